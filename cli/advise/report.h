// How advice is told: as text in 80 columns, and as JSON.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "advise/advice.h"
#include "base/status.h"

namespace pmio::cli {

// In lines of 80 columns that begin with spaces.
void print_wrapped(size_t indent, std::string_view text);

// Says the first error of these on stderr. False: there is none.
bool complain_of(std::initializer_list<Status> all);

void print_changes(const std::vector<advise::Change>& changes);

nlohmann::ordered_json json_of(const advise::Estimate& estimate);
nlohmann::ordered_json json_of(const std::vector<advise::Change>& changes);

// "1.2 ms [1.0 ms to 1.6 ms]"
std::string text_of(const advise::Estimate& estimate);

}  // namespace pmio::cli
