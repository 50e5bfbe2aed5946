// Random bytes, contents of files, and their comparison, many bytes at a time: a loop over single bytes takes
// minutes under the sanitizers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace pmio {

inline void fill_randomly(std::mt19937_64& random, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const uint64_t next = random();
    const size_t size = std::min(bytes.size(), sizeof next);
    std::memcpy(bytes.data(), &next, size);
    bytes = bytes.subspan(size);
  }
}

inline std::vector<std::byte> random_bytes(std::mt19937_64& random, size_t n) {
  std::vector<std::byte> bytes(n);
  fill_randomly(random, bytes);
  return bytes;
}

// Container: a string, or a vector of bytes. Empty if there is no such file.
template <class Container = std::vector<std::byte>>
Container contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  Container bytes(static_cast<size_t>(file.tellg()), {});
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

// Says which byte differs first.
inline testing::AssertionResult same(std::span<const std::byte> got, std::span<const std::byte> wanted) {
  const size_t size = std::min(got.size(), wanted.size());
  if (got.size() == wanted.size() && (size == 0 || std::memcmp(got.data(), wanted.data(), size) == 0)) {
    return testing::AssertionSuccess();
  }
  const size_t at = static_cast<size_t>(
      std::mismatch(got.begin(), got.begin() + static_cast<ptrdiff_t>(size), wanted.begin()).first -
      got.begin());
  auto failure = testing::AssertionFailure() << got.size() << " bytes, wanted " << wanted.size();
  if (at < size) {
    failure << "; byte " << at << " is " << static_cast<int>(got[at]) << ", wanted "
            << static_cast<int>(wanted[at]);
  }
  return failure;
}

}  // namespace pmio
