// What a power failure would leave of one mapped file. The live bytes are the volatile image (caches, page
// cache); beside them stands the persistent one, and for every cache line in which they differ all the
// contents that the line has had since, any of which may have reached the medium by itself.
//
// Stores are found by comparing the live bytes with those last seen, line by line, so those that did not come
// through Region::copy count too; of several such stores to one line between two looks only the last is seen.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <vector>

namespace pmio::fault {

// What becomes of the stores that no fence covered.
enum class Fate {
  vanish,   // none gets there
  persist,  // all do
  lines,    // each cache line by itself, with any content that it had
  words,    // some lines do, some do not, of some each 8 bytes by itself: a line may hold a part of a store
  but_one,  // all lines do, but each lacks 8 of its bytes
};

class Shadow {
 public:
  static constexpr size_t kLine = 64;
  static constexpr size_t kWord = 8;

  // live outlives the shadow. What it holds now is persistent.
  explicit Shadow(std::span<const std::byte> live);

  // Takes note of what has been stored in [offset, offset + length).
  void observe(size_t offset, size_t length);
  void observe() { observe(0, live_.size()); }
  // What the lines of the range hold now will be persistent after the next fence. Later stores will not.
  void flush(size_t offset, size_t length);
  void fence();
  // A fence that failed: what was flushed is as little on its way as if it had not been (an msync that fails
  // leaves the pages clean).
  void failed_fence();

  // The bytes that a restart finds.
  std::vector<std::byte> after_power_failure(Fate fate, std::mt19937_64& random) const;
  // Those that the death of the process leaves: all that was stored.
  std::vector<std::byte> stored() const { return {live_.begin(), live_.end()}; }
  size_t lines_at_risk() const { return at_risk_.size(); }

 private:
  using Content = std::array<std::byte, kLine>;
  struct Line {
    std::vector<Content> contents;  // since it was last persistent, oldest first
    size_t flushed = 0;             // so many of them are covered by a flush
  };
  void observe_line(size_t line);
  size_t line_bytes(size_t line) const;
  static void tear(const std::byte* before, const std::byte* after, size_t bytes, std::mt19937_64& random,
                   std::byte* out);

  std::span<const std::byte> live_;
  std::vector<std::byte> persistent_;
  std::vector<std::byte> seen_;
  std::map<size_t, Line> at_risk_;  // by number
};

}  // namespace pmio::fault
