// Small logs made by hand, for the consistent cut.
#pragma once

#include "fixture.h"
#include "log/target_mark.h"

namespace pmio::test {

// Calls of one open, each of which gives kPiece bytes of its own value to a place of its own.
class CutTest : public RecoverTest {
 protected:
  static constexpr int64_t kPiece = 10;
  static constexpr uint32_t kOpen = 1;  // CallNumber::open

  void declare(CrashedJob& job, uint32_t rank, uint32_t slot, uint32_t ranks, uint32_t begin = 0,
               bool later = false) {
    OpenEntry entry{};
    entry.open = 7;
    entry.ranks = ranks;
    entry.rank = rank;
    entry.begin_call = entry.last_call = begin;
    entry.begin_later = later ? 1 : 0;
    job.segment(rank, slot, target).writer.set_open(0, entry);
    ASSERT_TRUE(job.segment(rank, slot, target).writer.fence().ok());
  }

  void write(CrashedJob& job, uint32_t rank, uint32_t slot, int64_t place, CallNumber call,
             bool last = true) {
    SegmentWriter& writer = job.segment(rank, slot, target).writer;
    const Bytes data(kPiece, value(place));
    writer.append({place * kPiece, kPiece, 0, 1}, data.data(), ++stamp_, call, last);
    ASSERT_TRUE(writer.fence().ok());
  }
  static CallNumber collective(uint32_t number) { return {kOpen, number, false}; }
  static CallNumber independent_after(uint32_t number) { return {kOpen, number, true}; }

  static std::byte value(int64_t place) { return static_cast<std::byte>(place + 1); }
  // The file with these places written.
  static Bytes with(const std::vector<int64_t>& places) {
    Bytes bytes;
    for (const int64_t place : places) {
      const auto end = static_cast<size_t>((place + 1) * kPiece);
      if (bytes.size() < end) bytes.resize(end);
      std::fill_n(bytes.begin() + place * kPiece, kPiece, value(place));
    }
    return bytes;
  }

  // The mark that says that no drain was under way.
  void settle(CrashedJob& job) {
    auto mark = TargetMark::create(*job.medium, "mark-" + file_key(identity(target)));
    ASSERT_TRUE(mark.ok());
    auto file = TargetFile::open_same(target, identity(target), TargetFile::Access::read_only);
    ASSERT_TRUE(file.ok());
    mark->settled(*(*file)->state());
  }

  FileOutcome recover_cut() {
    RecoverOptions options;
    options.consistent = true;
    report = run(options);
    return report.jobs.at(0).files.at(0);
  }

  RecoverReport report;
  uint64_t stamp_ = 0;
};

}  // namespace pmio::test
