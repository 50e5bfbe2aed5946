// The providers there are, each in a file of its own.
#pragma once

#include "layout/provider.h"

namespace pmio {

const LayoutProvider& hinted_layouts();

}  // namespace pmio
