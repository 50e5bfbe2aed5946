// Stretches of a file that the ranks of a node have read for each other. A request for each small read costs
// more than its bytes. And what lies between the reads of one rank is often what the others read.
//
// In memory that the processes of the node share; init makes it from zeroed memory. A rank that is given
// bytes of a stretch finds the counts of an Epoch as they were before the file was read. Nothing that they
// count has been written since. For what they do not count there are since_ns and kMostAgeNs.
//
// Threads: one at a time for each object. Processes: any; they wait for one that reads a stretch from the
// file, and for nothing else. If it dies, the next one reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/robust_lock.h"
#include "base/status.h"

namespace pmio {

class SharedReads {
 public:
  static constexpr uint64_t kStretchBytes = 256 << 10;
  static constexpr uint64_t kMostAgeNs = 1'000'000'000;  // plain clients of file systems look again then

  // How often the file may have been changed: by other nodes, and by ranks of this node past the log.
  struct Epoch {
    uint64_t changes = 0, writes = 0;
    bool operator==(const Epoch&) const = default;
  };
  // Reads the file past what is cached of it: from a place that is a multiple of a page, to memory that is.
  using Fetch = std::function<Status(uint64_t offset, std::byte* to, uint64_t bytes, uint64_t* got)>;

  static size_t memory_bytes(uint32_t stretches);
  // number: not 0. The last step, so that whoever dies in it leaves memory that attach refuses.
  static void init(std::byte* memory, uint32_t stretches, uint64_t number);
  // Nothing: it is not that memory, or was not finished.
  static std::optional<SharedReads> attach(std::byte* memory, size_t bytes, uint64_t number);

  // Who reads: the counts, loaded before; and the time from which on a stretch must have been read.
  struct Reader {
    Epoch epoch;
    uint64_t since_ns = 0;
  };
  // *got: short at the end of the file as it was, or if all stretches are just being used. Then the rest is
  // to be read from the file. *fetches: from the file.
  Status read(const Reader& reader, uint64_t offset, std::byte* to, uint64_t bytes, const Fetch& fetch,
              uint64_t* got, uint32_t* fetches);

 private:
  struct Stretch;
  struct Table;
  explicit SharedReads(std::byte* memory) : memory_(memory) {}
  Table& table() const;
  std::byte* bytes_of(const Stretch& stretch) const;
  Stretch* find(uint64_t number) const;
  // Locked by *lock; null: all are in use.
  Stretch* hold(uint64_t number, std::optional<RobustLock>* lock);
  Stretch* take(uint64_t number, std::optional<RobustLock>* lock);
  static bool serves(const Stretch& stretch, const Reader& reader);
  Status fill(Stretch& stretch, uint64_t number, const Reader& reader, const Fetch& fetch);

  std::byte* memory_;
  size_t last_ = 0;  // where the last read was found
};

}  // namespace pmio
