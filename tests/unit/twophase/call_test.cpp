// Calls in which not all goes as usual: errors of the file, ranks without bytes, bytes of several ranks in
// one place, no memory to share.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/clock.h"
#include "support/system_calls.h"
#include "twophase/job.h"

namespace pmio::test {
namespace {

// Writes that reach into a range of any file fail for as long as an object lives.
class FailingRange {
 public:
  FailingRange(off_t begin, off_t end) {
    begin_ = begin;
    end_ = end;
  }

 private:
  static bool fails(size_t length, off_t offset) {
    return offset < end_ && offset + static_cast<off_t>(length) > begin_;
  }
  static ssize_t pwrite(int fd, const void* data, size_t length, off_t offset) {
    if (!fails(length, offset)) return syscall(SYS_pwrite64, fd, data, length, offset);
    errno = ENOSPC;
    return -1;
  }
  static ssize_t pread(int fd, void* data, size_t length, off_t offset) {
    if (!fails(length, offset)) return syscall(SYS_pread64, fd, data, length, offset);
    errno = EIO;
    return -1;
  }
  static inline std::atomic<off_t> begin_{0}, end_{0};
  const StandIn stand_in_{{.pread = pread, .pwrite = pwrite}};
};

TwoPhaseOptions small_windows(uint32_t aggregators, const std::vector<uint32_t>& nodes) {
  TwoPhaseOptions options;
  options.writes = options.reads = Buffering::enable;
  options.alignment = Alignment::even;
  options.buffer_bytes = 1;
  options.aggregators = choose_aggregators({0, nodes}, {}, aggregators);
  return options;
}

// Rank r has the contiguous bytes [r * length, (r + 1) * length).
std::vector<Part> rows(uint32_t ranks, uint64_t length) {
  std::vector<Part> parts(ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    parts[rank].view = Pattern::bytes(1);
    parts[rank].displacement = static_cast<int64_t>(rank * length);
    parts[rank].bytes = length;
    parts[rank].buffer.assign(length, static_cast<std::byte>(rank + 1));
  }
  return parts;
}

// Rank r has every ranks-th piece.
std::vector<Part> columns(uint32_t ranks, uint64_t piece, uint64_t pieces) {
  std::vector<Part> parts(ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    parts[rank].view.add({static_cast<int64_t>(rank * piece), piece});
    parts[rank].view.finish(static_cast<int64_t>(ranks * piece));
    parts[rank].bytes = piece * pieces;
    parts[rank].buffer.assign(parts[rank].bytes, static_cast<std::byte>(rank + 1));
  }
  return parts;
}

constexpr uint64_t kRow = 40000;  // many windows

class Errors : public testing::TestWithParam<std::vector<uint32_t>> {};

TEST_P(Errors, AreReturnedToThoseWhoseBytesTheyConcern) {
  Job job(GetParam(), small_windows(2, GetParam()));
  std::vector<Part> parts = rows(job.ranks(), kRow);
  job.start({});
  const FailingRange fails(kRow + kRow / 2, kRow + kRow / 2 + 100);
  std::vector<Status> written(job.ranks()), again(job.ranks());
  job.run([&](TwoPhase& two_phase, uint32_t rank) {
    written[rank] = two_phase.write(parts[rank].request());
    TwoPhaseRequest first = parts[rank].request();
    if (rank == 1) first.bytes = 0;
    again[rank] = two_phase.write(first);
  });
  for (uint32_t rank = 0; rank < job.ranks(); ++rank) {
    EXPECT_EQ(written[rank].code(), rank == 1 ? Code::no_space : Code::ok) << rank;
    EXPECT_EQ(written[rank].system_errno(), rank == 1 ? ENOSPC : 0);
    EXPECT_TRUE(again[rank].ok()) << "the next call is another one";
  }
}

TEST_P(Errors, OfAReadAsWell) {
  Job job(GetParam(), small_windows(2, GetParam()));
  std::vector<Part> parts = rows(job.ranks(), kRow);
  job.start(std::vector<std::byte>(job.ranks() * kRow, std::byte{7}));
  const FailingRange fails(kRow + kRow / 2, kRow + kRow / 2 + 100);
  std::vector<Code> codes(job.ranks());
  job.run([&](TwoPhase& two_phase, uint32_t rank) {
    uint64_t got = 0;
    codes[rank] = two_phase.read(parts[rank].request(), &got).code();
    EXPECT_TRUE(rank == 1 || got == kRow);
  });
  for (uint32_t rank = 0; rank < job.ranks(); ++rank) EXPECT_EQ(codes[rank], rank == 1 ? Code::io : Code::ok);
}

TEST_P(Errors, RanksWithoutBytesTakePart) {
  Job job(GetParam(), small_windows(0, GetParam()));
  job.start({});
  std::vector<Part> parts = columns(job.ranks(), 100, 300);
  job.expect(parts[1]);
  job.run([&](TwoPhase& two_phase, uint32_t rank) {
    EXPECT_TRUE(two_phase.write({}).ok());
    EXPECT_TRUE(two_phase.write(rank == 1 ? parts[rank].request() : TwoPhaseRequest{}).ok());
    uint64_t got = 1;
    EXPECT_TRUE(two_phase.read({}, &got).ok());
    EXPECT_EQ(got, 0u);
  });
  job.check_file();
}

TEST_P(Errors, WithoutMemoryToShareEachRankWritesItsOwn) {
  Job job(GetParam(), small_windows(0, GetParam()));
  job.network().share_nothing();
  job.start({});
  std::vector<Part> parts = columns(job.ranks(), 100, 300);
  for (Part& part : parts) job.expect(part);
  job.run(
      [&](TwoPhase& two_phase, uint32_t rank) { EXPECT_TRUE(two_phase.write(parts[rank].request()).ok()); });
  job.check_file();
}

#ifndef __SANITIZE_THREAD__  // the program's own race, which MPI allows
TEST_P(Errors, InOnePlaceIsSomebodysByte) {
  Job job(GetParam(), small_windows(2, GetParam()));
  job.start({});
  std::vector<Part> parts = columns(1, 30, 1000);
  for (uint32_t rank = 1; rank < job.ranks(); ++rank) {
    parts.push_back(parts[0]);
    parts[rank].displacement = 7 * rank;
    parts[rank].buffer.assign(parts[rank].bytes, static_cast<std::byte>(rank + 1));
  }
  job.run(
      [&](TwoPhase& two_phase, uint32_t rank) { EXPECT_TRUE(two_phase.write(parts[rank].request()).ok()); });
  const std::vector<std::byte> bytes = contents(job.path());
  ASSERT_EQ(bytes.size(), 30000 + 7 * (job.ranks() - 1));
  for (uint64_t at = 0; at < bytes.size(); ++at) {
    const uint64_t rank = static_cast<uint64_t>(bytes[at]) - 1;
    ASSERT_TRUE(rank < job.ranks() && at >= 7 * rank && at < 30000 + 7 * rank) << at;
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(Nodes, Errors,
                         testing::Values(std::vector<uint32_t>{0, 0, 0}, std::vector<uint32_t>{0, 1, 1, 2},
                                         std::vector<uint32_t>{1, 0, 0, 1}));

TEST(Holes, AreNotWritten) {
  Job job({0, 0}, small_windows(1, {0, 0}));
  job.start({});
  std::vector<Part> parts = columns(4, 10, 100);
  parts.resize(2);
  job.run([&](TwoPhase& two_phase, uint32_t rank) {
    EXPECT_TRUE(two_phase.write(parts[rank].request()).ok());
    EXPECT_EQ(two_phase.counters().accessed_bytes, rank == 0 ? 2000u : 0u);
  });
}

TEST(Metadata, DoesNotGrowWithThePieces) {
  const std::vector<uint32_t> nodes = {0, 0, 1, 1};
  uint64_t metadata[2] = {};
  for (const uint64_t factor : {1, 8}) {
    TwoPhaseOptions options = small_windows(0, nodes);
    options.buffer_bytes = 4 << 20;
    Job job(nodes, options);
    job.start({});
    std::vector<Part> parts = columns(4, 64 / factor, 1000 * factor);
    for (Part& part : parts) job.expect(part);
    std::atomic<uint64_t> sum{0};
    job.run([&](TwoPhase& two_phase, uint32_t rank) {
      EXPECT_TRUE(two_phase.write(parts[rank].request()).ok());
      sum += two_phase.counters().metadata_bytes;
    });
    job.check_file();
    metadata[factor == 8] = sum;
  }
  EXPECT_LT(metadata[1], metadata[0] + 16);
  EXPECT_LT(metadata[0], 1200u);
}

TEST(Sparse, PiecesFarFromEachOtherAreWrittenByThemselves) {
  Job job({0, 1}, small_windows(0, {0, 1}));
  job.start({});
  std::vector<Part> parts = columns(2, 8, 5);
  for (Part& part : parts) part.view.finish(int64_t{1} << 40);
  job.run([&](TwoPhase& two_phase, uint32_t rank) {
    EXPECT_TRUE(two_phase.write(parts[rank].request()).ok());
    EXPECT_EQ(two_phase.counters().independent_calls, 1u);
    uint64_t got = 0;
    Part back = parts[rank];
    std::fill(back.buffer.begin(), back.buffer.end(), std::byte{0});
    EXPECT_TRUE(two_phase.read(back.request(), &got).ok());
    EXPECT_EQ(got, 40u);
    EXPECT_EQ(back.buffer, parts[rank].buffer);
  });
}

// Each phase grows with every call, and no time is in two of them: a rank that waits serves others meanwhile.
TEST(Phases, AreCountedOnce) {
  const std::vector<uint32_t> nodes{0, 0, 1};
  Job job(nodes, small_windows(2, nodes));
  std::vector<Part> parts = columns(job.ranks(), 100, 400);
  job.start({});
  job.run([&](TwoPhase& two_phase, uint32_t rank) {
    const TwoPhaseCounters& now = two_phase.counters();
    uint64_t wall = 0;
    for (int call = 0; call < 5; ++call) {
      const TwoPhaseCounters before = now;
      uint64_t got = 0;
      const uint64_t start = monotonic_ns();
      ASSERT_TRUE(two_phase.write(parts[rank].request()).ok());
      ASSERT_TRUE(two_phase.read(parts[rank].request(), &got).ok());
      wall += monotonic_ns() - start;
      EXPECT_GT(now.arrival_ns, before.arrival_ns);
      EXPECT_GT(now.copy_ns, before.copy_ns);
      EXPECT_GE(now.wait_ns, before.wait_ns);
    }
    EXPECT_EQ(now.exchanged_calls, 10u);
    EXPECT_LE(now.copy_ns, now.exchange_ns);
    EXPECT_LE(now.arrival_ns + now.wait_ns + now.exchange_ns + now.file_ns, wall);
  });
}

// The file that was opened anew for them is closed by then.
TEST(FreshReads, AreTheFilesWhenTheCallIsOver) {
  const std::vector<uint32_t> nodes{0, 1};
  TwoPhaseOptions options = small_windows(0, nodes);
  options.fresh_reads = true;
  Job job(nodes, options);
  const std::vector<Part> parts = columns(job.ranks(), 100, 4);
  job.start(std::vector<std::byte>(800, std::byte{1}));
  std::atomic<uint64_t> read_bytes{0};
  job.network().run([&](Collective& collective) {
    auto file = TargetFile::open(job.path(), TargetFile::Access::read_write);
    ASSERT_TRUE(file.ok());
    FileStore store(**file);
    const auto two_phase = TwoPhase::make(collective, store, options);
    Part part = parts[collective.members().rank];
    uint64_t got = 0;
    ASSERT_TRUE(two_phase->read(part.request(), &got).ok());
    EXPECT_EQ(got, 400u);
    read_bytes += (*file)->counters().read_bytes;
  });
  EXPECT_EQ(read_bytes, 800u);
}

}  // namespace
}  // namespace pmio::test
