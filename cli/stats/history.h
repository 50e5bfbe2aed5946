// What a rank's statistics tell of its numbers over time (stats/history.h).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace pmio::cli {

// One number: moments, and what it was then.
struct Series {
  std::vector<uint64_t> at_ns, values;
};

// Moments since begin_ns, which is not after the rank's MPI_Init. Empty: there is no such number. Throws
// nlohmann's exceptions if the history is damaged.
Series series_of(const nlohmann::ordered_json& rank, std::string_view name, uint64_t begin_ns);

// From the moment before that one, if there is one; else since MPI_Init.
uint64_t growth(const Series& series, size_t i);

}  // namespace pmio::cli
