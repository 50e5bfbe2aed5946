// The name of a job's directory in a log directory, and of its entry in the registry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pmio {

std::string job_name(uint64_t id);                      // "job-" and 16 hexadecimal digits
std::optional<uint64_t> job_of(std::string_view name);  // nothing if it is not "job-" and hexadecimal digits

}  // namespace pmio
