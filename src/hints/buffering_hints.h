// The hints of collective buffering.
#pragma once

#include <optional>
#include <string_view>

#include "base/status.h"
#include "hints/hints.h"

namespace pmio {

// As set_hint. Nothing: it is none of these.
std::optional<Status> set_buffering_hint(BufferingHints& hints, std::string_view key, std::string_view value);

}  // namespace pmio
