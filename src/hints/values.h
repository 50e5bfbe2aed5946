// Values of hints, as the files of this layer share them.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace pmio {

// invalid, in words for the user.
Status bad_value(std::string_view key, std::string_view value, const char* expected);
// parse_bytes. invalid: `into` is unchanged.
Status set_bytes(uint64_t& into, std::string_view key, std::string_view value);
// Words for on and off.
Status set_switch(bool& into, std::string_view key, std::string_view value);
// The same of a number that fits; what: it is, in words.
Status set_count(uint32_t& into, std::string_view key, std::string_view value, const char* what);

}  // namespace pmio
