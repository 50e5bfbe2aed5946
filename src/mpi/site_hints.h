// The hints that hold for all files of this process. Threads: any.
#pragma once

#include "mpi/shared_hints.h"

namespace pmio {

// Those of the site's file and of the environment; bad ones are said if say is true. *overridden: whether the
// environment has hints by files, too.
SharedHints site_hints(bool say, bool* overridden = nullptr);

}  // namespace pmio
