// The contents of the statistics files, as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "stats/counters.h"

namespace pmio {

std::string announcement_json(const RunFacts& facts);
std::string statistics_json(const RunFacts& facts, const Counters& counters, const FileList& files,
                            const History::Points& history);

}  // namespace pmio
