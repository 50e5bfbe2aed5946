// What all ranks of a job find alike, and end by, is told by the first one.
#pragma once

#include <chrono>
#include <thread>

namespace pmio::cli {

// Another rank, before it ends with an error: a launcher ends the whole job when it sees that, perhaps before
// the first rank has told what is wrong.
inline void let_first_rank_tell() { std::this_thread::sleep_for(std::chrono::seconds(1)); }

}  // namespace pmio::cli
