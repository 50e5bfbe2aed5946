// Threads of pmio's own in a program that knows nothing of them.
#pragma once

#include <functional>
#include <thread>

namespace pmio {

// Starts a thread in which all signals are blocked: the program's signals stay the program's. Throws
// std::system_error where there can be no more threads; the caller's signals are then as they were.
std::thread quiet_thread(std::function<void()> body);

}  // namespace pmio
