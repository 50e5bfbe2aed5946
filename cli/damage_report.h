// How damage in a log is told, by `pmio recover` and `pmio inspect` alike.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "recover/evidence.h"

namespace pmio::cli {

// "records 7 to 9 are lost though they were acknowledged: bytes 4096 to 8191 of the file; 2 do not tell
// where"
std::string damage_text(const Damage& damage);
nlohmann::ordered_json damage_json(const Damage& damage);

}  // namespace pmio::cli
