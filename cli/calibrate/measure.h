// What `pmio calibrate` measures on one node. Each function makes a scratch directory and removes it.
// Errors of all: of the system; no_space: there is too little room, and nothing was written; busy: a signal
// came.
#pragma once

#include <string>

#include "cli/calibrate/repetitions.h"

namespace pmio::cli {

// The threads that write and copy at the same time: as many as processors, up to 4.
uint32_t writers_of(const MachineFacts& machine);

// Rates by block size, of one file that all threads write alternately, each block by a pwrite of its own; the
// largest, that of a drain, by one thread. The open is not in the time, and the close is. The file has up to
// 64 MiB.
Result<FileSystemProfile> measure_file_system(const std::string& directory, uint32_t writers,
                                              const Effort& effort, Progress& progress);
size_t steps_of_file_system();

// Copies to the log medium, cold and warm, from memory that is not in the processor's cache.
Result<LogProfile> measure_log_medium(const std::string& directory, uint32_t writers, const Effort& effort,
                                      Progress& progress);

}  // namespace pmio::cli
