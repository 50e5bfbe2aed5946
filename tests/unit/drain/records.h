// Random log records for the tests of the drain layer, and the naive way to find out what they leave in a
// file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "drain/paint.h"
#include "support/bytes.h"

namespace pmio::test {

using Random = std::mt19937_64;
inline uint64_t below(Random& random, uint64_t n) { return random() % n; }

// Records in memory. `where` of an entry is its record's number, so every entry has one place in the order.
class Records final : public EntrySource {
 public:
  struct Record {
    Vector range;
    std::vector<std::byte> data;
  };

  Entry add(Random& random, const Vector& range, uint64_t stamp_ns, uint32_t segment) {
    records.push_back({range, random_bytes(random, range.bytes())});
    return Entry{static_cast<uint64_t>(range.offset),
                 static_cast<uint64_t>(range.end()),
                 stamp_ns,
                 segment,
                 static_cast<uint32_t>(records.size() - 1),
                 range.count > 1};
  }
  bool locate(const Entry& entry, Located* located) override {
    if (gone && *gone == entry.where) return false;
    *located = {records[entry.where].range, records[entry.where].data.data()};
    return true;
  }

  std::vector<Record> records;
  std::optional<uint32_t> gone;
};

// Byte for byte, the newest entry that has it.
struct NewestEntry {
  explicit NewestEntry(uint64_t bytes) : value(bytes), winner(bytes) {}
  void write(const Entry& entry, const Records::Record& record) {
    for (uint64_t i = 0; i < record.range.bytes(); ++i) {
      const auto block = i / record.range.block_length, in_block = i % record.range.block_length;
      const auto at = static_cast<uint64_t>(record.range.offset) +
                      block * static_cast<uint64_t>(record.range.stride) + in_block;
      if (winner[at] && older(entry, *winner[at])) continue;
      winner[at] = entry;
      value[at] = record.data[i];
    }
  }
  std::vector<Interval> covered(uint64_t a, uint64_t b) const {
    std::vector<Interval> list;
    for (uint64_t i = a; i < b; ++i) {
      if (!winner[i]) continue;
      if (!list.empty() && list.back().end == i)
        ++list.back().end;
      else
        list.push_back({i, i + 1});
    }
    return list;
  }
  std::vector<std::byte> value;
  std::vector<std::optional<Entry>> winner;
};

}  // namespace pmio::test
