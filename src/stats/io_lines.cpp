#include "stats/io_lines.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

namespace pmio {
namespace {

constexpr size_t kMostName = 255;  // of a file system's components

std::atomic<int> rank_of_lines{0};
std::array<std::atomic<uint64_t>, 4> told{};

}  // namespace

void IoLines::start(int rank) {
  rank_of_lines.store(rank, std::memory_order_relaxed);
  on_.store(true, std::memory_order_relaxed);
}

void IoLines::write_line(Kind kind, uint64_t offset, uint64_t length, std::string_view path) {
  constexpr std::array<const char*, 4> kNames{"WCreC", "RCreC", "W_rec", "R_rec"};
  const size_t slash = path.rfind('/');
  const std::string_view name = path.substr(slash == std::string_view::npos ? 0 : slash + 1, kMostName);
  const uint64_t number = told[kind].fetch_add(1, std::memory_order_relaxed);
  std::array<char, 512> line{};
  const int made =
      std::snprintf(line.data(), line.size(), "PE=%05d  %s=%05lu  off=%010lu  len=%010lu  %.*s\n",
                    rank_of_lines.load(std::memory_order_relaxed), kNames[kind], number, offset, length,
                    static_cast<int>(name.size()), name.data());
  const auto bytes = static_cast<size_t>(std::clamp(made, 0, static_cast<int>(line.size()) - 1));
  while (write(STDOUT_FILENO, line.data(), bytes) < 0 && errno == EINTR) {
  }
}

}  // namespace pmio
