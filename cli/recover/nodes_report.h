// What `pmio recover` says of nodes whose logs are not in a file yet.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "recover/recover.h"

namespace pmio::cli {

// "c1 (ranks 0-3), c2 (ranks 4-7)"
std::string nodes_text(std::span<const Journal::WaitedFor> nodes);
nlohmann::ordered_json nodes_json(std::span<const Journal::WaitedFor> nodes);

void print_unfinished(const UnfinishedRecovery& other);
nlohmann::ordered_json unfinished_json(std::span<const UnfinishedRecovery> others);

}  // namespace pmio::cli
