// What a message of the MPI library costs, by what bench/messages.c prints: T_s and T_w of src/model/liu.h.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/profile/profile.h"

namespace pmio::cli {

struct Line {
  double start = 0;     // seconds of a message without bytes
  double per_byte = 0;  // and of each byte
};

// The line through times by size for which the relative errors, squared, are least. At least two sizes; times
// are above 0. Nothing: a part of it is not above 0, so that the times are those of something else.
std::optional<Line> fit_line(const std::vector<double>& bytes, const std::vector<double>& seconds);

// By what the program prints; a round without a line does not count. corrupt: it is something else. io: no
// round has a line.
Result<ExchangeProfile> exchange_of(std::string_view printed);

}  // namespace pmio::cli
