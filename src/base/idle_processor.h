// Whether work that nobody waits for takes a processor from anybody.
//
// Threads: any. It costs some 10 us.
#pragma once

#include <cstdint>
#include <string_view>

namespace pmio {

// Whether there are at least as many processors as threads that run or want to, the caller among them. True,
// if the system does not tell.
bool has_idle_processor();

// The same by the text of /proc/loadavg (proc(5)).
bool has_idle_processor(std::string_view loadavg, uint64_t processors);

// Of the machine, whatever this process is bound to.
uint64_t online_processors();

}  // namespace pmio
