// Runs bench/messages.c, one process of it in each rank.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace pmio::cli {

// Runs the program in a child process, which takes this one's place in the job: the launcher has started one
// in each rank. What it prints; empty on all ranks but the first. io: it cannot be run, or has failed.
Result<std::string> run_messages(const std::string& program, uint32_t rounds, double seconds);

}  // namespace pmio::cli
