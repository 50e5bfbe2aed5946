// How damage in a log is told, by `pmio recover` and `pmio inspect` alike.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "recover/evidence.h"

namespace pmio::cli {

// "records 7 to 9 are lost though they were acknowledged: bytes 4096 to 8191 of the file; 2 do not tell
// where"
std::string damage_text(const Damage& damage);
std::string range_text(const Vector& range);  // "bytes 0 to 99"
// "bytes 0 to 99, bytes 200 to 299 of the file and 3 more ranges"
std::string ranges_text(const std::vector<Vector>& ranges);
// Null where it is not known.
nlohmann::ordered_json range_json(const std::optional<Vector>& range);
nlohmann::ordered_json ranges_json(const std::vector<Vector>& ranges);
nlohmann::ordered_json damage_json(const Damage& damage);

}  // namespace pmio::cli
