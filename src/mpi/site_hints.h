// The hints that hold for all files of this process. Threads: any.
#pragma once

#include "hints/hints.h"

namespace pmio {

// Those of the site's file and of the environment; bad ones are said if say is true.
Hints site_hints(bool say);

}  // namespace pmio
