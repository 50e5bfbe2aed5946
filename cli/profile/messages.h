// What a message of the MPI library costs, by what bench/messages.c prints: T_s and T_w of src/model/liu.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/profile/profile.h"

namespace pmio::cli {

struct Line {
  double start = 0;     // seconds of a message without bytes
  double per_byte = 0;  // and of each byte
};

// The line through times by size for which the relative errors, squared, are least; neither part is below 0.
// At least two sizes; times are above 0.
Line fit_line(const std::vector<double>& bytes, const std::vector<double>& seconds);

// By what the program prints. corrupt: it is something else.
Result<ExchangeProfile> exchange_of(std::string_view printed);

}  // namespace pmio::cli
