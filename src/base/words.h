// How numbers are written for people. Threads: any.
#pragma once

#include <cstdint>
#include <string>

namespace pmio {

std::string human_bytes(uint64_t bytes);       // "17 B", "1.3 KiB", "20.0 GiB"
std::string human_time(uint64_t nanoseconds);  // "0.8 us", "12.5 ms", "3.20 s"
std::string human_duration(double seconds);    // the same, and "7.5 min", "3.0 h", "90.1 days"; not negative
std::string human_count(uint64_t number);      // "1,234,567"
std::string human_decimal(double value);       // "0.125", "12.5"

}  // namespace pmio
