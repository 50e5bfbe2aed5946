// A job whose ranks access a file by collective buffering, and what the file must be: each piece by itself in
// an array of bytes.
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "support/fake_collective.h"
#include "support/node_fixture.h"
#include "twophase/two_phase.h"

namespace pmio::test {

using Random = std::mt19937_64;
inline uint64_t pick(Random& random, uint64_t low, uint64_t high) {
  return low + random() % (high - low + 1);
}

// What one rank gives to one call, with memory of its own.
struct Part {
  Pattern view, memory = Pattern::bytes(1);
  int64_t displacement = 0;
  uint64_t position = 0, bytes = 0;
  std::vector<std::byte> buffer;

  TwoPhaseRequest request() { return {&view, displacement, position, &memory, buffer.data(), bytes}; }
  // Calls byte(offset in the file, the byte in the buffer) for each byte, in the stream's order.
  template <class Byte>
  void each(Byte byte) {
    if (bytes == 0) return;
    PatternCursor file(view, displacement, position), own(memory, 0, 0);
    for (uint64_t i = 0; i < bytes; ++i) {
      const auto at = static_cast<uint64_t>(file.next_piece(1).offset);
      byte(at, buffer[static_cast<uint64_t>(own.next_piece(1).offset)]);
    }
  }
  // A buffer that is large enough.
  void make_buffer() {
    if (bytes == 0) return;
    PatternCursor own(memory, 0, bytes - 1);
    uint64_t end = static_cast<uint64_t>(own.offset()) + 1;
    for (const Vector& part : memory.parts)
      end = std::max(end, static_cast<uint64_t>(own.offset() + part.end()));
    buffer.resize(end);
  }
};

class Job {
 public:
  explicit Job(std::vector<uint32_t> node_of, TwoPhaseOptions options = {})
      : node_of_(std::move(node_of)), options_(std::move(options)), network_(node_of_) {}
  uint32_t ranks() const { return static_cast<uint32_t>(node_of_.size()); }
  FakeNetwork& network() { return network_; }
  std::string path() const { return scratch_.files_ + "/file"; }

  // What the file holds before.
  void start(std::vector<std::byte> bytes) {
    std::ofstream(path(), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    expected_ = std::move(bytes);
  }
  // Runs work(two_phase, rank) for each rank.
  template <class Work>
  void run(Work work, TargetFile::Access access = TargetFile::Access::read_write) {
    network_.run([&](Collective& collective) {
      auto file = TargetFile::open(path(), access);
      ASSERT_TRUE(file.ok()) << file.status().message();
      FileStore store(*file.value());
      auto two_phase = TwoPhase::make(collective, store, options_);
      work(*two_phase, collective.members().rank);
    });
  }
  void expect(Part& part) {
    part.each([&](uint64_t at, std::byte byte) {
      if (expected_.size() <= at) expected_.resize(at + 1);
      expected_[at] = byte;
    });
  }
  const std::vector<std::byte>& expected() const { return expected_; }
  void check_file() const {
    const bool empty = std::filesystem::is_empty(path());
    ASSERT_TRUE(same(empty ? std::vector<std::byte>() : contents(path()), expected_));
  }

 private:
  const std::vector<uint32_t> node_of_;
  const TwoPhaseOptions options_;
  FakeNetwork network_;
  Scratch scratch_;
  std::vector<std::byte> expected_;
};

}  // namespace pmio::test
