// How the consistent cut of a file is told by `pmio recover`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "recover/recover.h"

namespace pmio::cli {

// "collective write calls are complete up to number 20"; empty where there are none.
std::string complete_text(const Cut& cut);
// What is missing and what lies behind the cut, in lines of their own. log: the job's directory.
void print_cut(const FileOutcome& file, const std::string& log, bool consistent);
void add_cut(const FileOutcome& file, nlohmann::ordered_json* entry);

}  // namespace pmio::cli
