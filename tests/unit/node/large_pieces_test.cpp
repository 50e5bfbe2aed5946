// Pieces of a write that go straight to the file, between others that are logged.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/file_system.h"
#include "node/control.h"
#include "node/file_parts.h"
#include "node/job_impl.h"
#include "support/node_fixture.h"
#include "support/recover_all.h"
#include "support/target_writes.h"
#include "support/wrapped_medium.h"

namespace pmio {
namespace {

constexpr uint64_t kLarge = 64 << 10;

class HugePageMedium final : public test::WrappedMedium {
 public:
  using WrappedMedium::WrappedMedium;
  size_t huge_page_bytes() const override { return kHugePageBytes; }
};

class WithLargePieces : public testing::Test {
 protected:
  WithLargePieces() : path(scratch.files_ + "/data") {
    setenv("PMIO_REGISTRY", scratch.files_.c_str(), 1);
    std::ofstream(path).flush();
  }
  void open(uint32_t ranks, bool background = false) {
    all = open_all(scratch, path, ranks, 16 << 20, background, nullptr, {kLarge, kLarge});
  }
  // By the first rank's job.
  void reopen(const DirectFrom& from) {
    Job::OpenOptions again;
    again.path = path;
    again.direct_from = from;
    all[0].file = *all[0].job->open(again);
  }
  void open_on_huge_pages(const DirectFrom& from) {
    auto job = join(scratch, 0, 1, 16 << 20, false, nullptr, test::open_wrapped<HugePageMedium>());
    all.push_back({std::move(job), nullptr});
    reopen(from);
  }
  File& file(uint32_t rank = 0) { return *all[rank].file; }
  void write(uint64_t offset, uint64_t bytes, char value, uint32_t rank = 0) {
    const std::vector<std::byte> data(bytes, static_cast<std::byte>(value));
    ASSERT_TRUE(file(rank).append(offset, data.data(), bytes, 0).ok());
    oracle.write(offset, data.data(), bytes);
  }
  uint64_t straight(uint32_t rank = 0) { return all[rank].job->counters().direct_bytes; }
  void expect_read() {
    for (const Rank& rank : all) {
      std::vector<std::byte> bytes(oracle.bytes.size());
      uint64_t got = 0;
      ASSERT_TRUE(rank.file->read(0, bytes.data(), bytes.size(), &got).ok());
      ASSERT_EQ(got, bytes.size());
      ASSERT_TRUE(same(bytes, oracle.bytes));
    }
  }
  void expect_file() {
    close_all(all);
    ASSERT_TRUE(same(contents(path), oracle.bytes));
  }

  void in_a_job_that_dies(const std::function<void()>& body) {
    const pid_t child = fork();
    if (child == 0) {
      body();
      _exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }

  Scratch scratch;
  std::string path;
  std::vector<Rank> all;
  Oracle oracle;
};

TEST_F(WithLargePieces, AreInTheFileAtOnceAndTouchNoLog) {
  open(2);
  write(0, kLarge, 'a');
  write(kLarge, 3 * kLarge, 'b', 1);
  EXPECT_EQ(straight(), kLarge);
  EXPECT_EQ(straight(1), 3 * kLarge);
  EXPECT_FALSE(file().usage().ever_logged());
  EXPECT_TRUE(same(contents(path), oracle.bytes));
  EXPECT_EQ(*file().size_bytes(), 4 * kLarge);
  expect_read();
  expect_file();
}

TEST_F(WithLargePieces, AreLoggedOverWhatIsLoggedAndNotDrained) {
  open(2);
  write(kLarge - 10, 20, 's', 1);
  write(0, kLarge, 'L');
  EXPECT_EQ(straight(), 0u);
  write(kLarge + 10, kLarge, 'M');  // behind the small piece
  EXPECT_EQ(straight(), kLarge);
  expect_read();
  write(kLarge + 5, 20, 't', 1);
  expect_read();
  expect_file();
}

// The cells of a segment tell only from where to where its records go.
TEST_F(WithLargePieces, GoBetweenSmallOnesThatAreNotDrained) {
  open(2);
  write(0, 100, 's', 1);
  write(5 * kLarge, 100, 's', 1);
  write(kLarge, 2 * kLarge, 'L');
  EXPECT_EQ(straight(), 2 * kLarge);
  expect_read();
  expect_file();
}

TEST_F(WithLargePieces, HideWhatIsServedFromTheLogs) {
  open(2);
  write(0, 1000, 's', 1);
  ASSERT_TRUE(file().drain().ok());
  expect_read();
  write(0, kLarge, 'L');
  EXPECT_EQ(straight(), kLarge);
  expect_read();
  expect_file();
}

// A view of large blocks: all at once; of small and large ones: each where it belongs.
TEST_F(WithLargePieces, OfAView) {
  open(1);
  Pattern view;
  view.add({0, kLarge, 3 * kLarge, 4});
  view.add({12 * kLarge, 100, 0, 1});
  view.add({13 * kLarge, kLarge, 0, 1});
  view.finish(14 * kLarge);
  std::mt19937_64 random(1);
  const auto data = random_bytes(random, 2 * view.size);
  PatternCursor to(view, 0, 0), again(view, 0, 0);
  const Pattern flat = Pattern::bytes(data.size());
  PatternCursor from(flat, 0, 0);
  ASSERT_TRUE(file().append(to, from, data.data(), data.size(), 1).ok());
  for (uint64_t done = 0; done < data.size();) {
    const auto piece = again.next_piece(data.size() - done);
    oracle.write(static_cast<uint64_t>(piece.offset), data.data() + done, piece.length);
    done += piece.length;
  }
  EXPECT_EQ(straight(), data.size() - 200);
  EXPECT_EQ(all[0].job->counters().direct_calls, 0u);
  expect_read();
  expect_file();
}

// One that was logged would be in the log still.
TEST_F(WithLargePieces, TellTheirErrorAtOnce) {
  open(1);
  const std::vector<std::byte> data(kLarge);
  {
    const test::FailingWrites full(ENOSPC);
    EXPECT_EQ(file().append(0, data.data(), data.size(), 0).code(), Code::no_space);
  }
  write(0, kLarge, 'a');
  expect_read();
  expect_file();
}

// As NFS does.
TEST_F(WithLargePieces, TellOfAnErrorThatTheFileSystemTellsAtAClose) {
  open(2);
  write(0, kLarge, 'a');
  {
    const test::StandIn failing({.close = [](int fd) {
      (void)syscall(SYS_close, fd);
      errno = EIO;
      return -1;
    }});
    EXPECT_EQ(file().flush().code(), Code::io);
    EXPECT_TRUE(file(1).flush().ok());
  }
  expect_file();
}

// Nor is any touched ahead of what will not come; nor for a file that is only read.
TEST_F(WithLargePieces, TouchNoLogAhead) {
  constexpr useconds_t kLonger = 150'000;  // than a file may be open without being written
  open(1, true);
  write(0, kLarge, 'L');
  usleep(kLonger);
  const SegmentPool& pool = file().parts().shared.job->member->pool();
  EXPECT_EQ(pool.warm_bytes(), 0u);
  ASSERT_TRUE(file().closing().release().ok());
  Job::OpenOptions read_only;
  read_only.path = path;
  read_only.read_only = true;
  all[0].file = *all[0].job->open(read_only);
  usleep(kLonger);
  EXPECT_EQ(pool.warm_bytes(), 0u);
  expect_file();
}

TEST_F(WithLargePieces, AreNotReadAndWrittenBackByARound) {
  open(2);
  write(0, 4 * kLarge, 'a');
  for (uint64_t at = 0; at < kLarge; at += 64) write(at, 8, 's', 1);
  const auto reads = [&] {
    return file().target().counters().reads[0] + file().target().counters().reads[1];
  };
  const uint64_t before = reads();
  ASSERT_TRUE(file().drain().ok());
  EXPECT_EQ(reads(), before);
  expect_file();
}

// Recovery compares the file with what the job left: a piece that came behind the last round is the job's.
TEST_F(WithLargePieces, AreNoChangeByOthersForRecovery) {
  in_a_job_that_dies([this] {
    open(1);
    write(8 * kLarge, 100, 's');
    ASSERT_TRUE(file().drain().ok());
    write(9 * kLarge, 100, 't');
    usleep(20'000);  // than the clock of the file system has ticks
    write(0, kLarge, 'L');
  });
  recover_all(scratch);
  const auto bytes = contents(path);
  ASSERT_EQ(bytes.size(), 9 * kLarge + 100);
  EXPECT_EQ(static_cast<char>(bytes[0]), 'L');
  EXPECT_EQ(static_cast<char>(bytes[8 * kLarge]), 's');
  EXPECT_EQ(static_cast<char>(bytes[9 * kLarge]), 't');
}

// Nothing tells where a piece of a later call went.
TEST_F(WithLargePieces, AreToldOfByTheConsistentCut) {
  in_a_job_that_dies([this] {
    open(2);
    const std::vector<std::byte> small(100, std::byte{'s'}), large(kLarge, std::byte{'L'});
    const uint32_t opens[] = {file(0).opens().add(7, 2, 0), file(1).opens().add(7, 2, 1)};
    const auto write = [&](uint32_t rank, uint64_t offset, const std::vector<std::byte>& data,
                           uint32_t call) {
      ASSERT_TRUE(file(rank).append(offset, data.data(), data.size(), {opens[rank], call, false}).ok());
    };
    write(0, 0, small, 1);
    write(1, kLarge, large, 1);
    write(1, 100, small, 2);
    write(0, 2 * kLarge, large, 2);
    write(0, 3 * kLarge, large, 3);
  });
  RecoverOptions options;
  options.directory = scratch.log_;
  options.consistent = true;
  auto report = recover(options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report->jobs.size(), 1u);
  ASSERT_EQ(report->jobs[0].files.size(), 1u);
  const Cut& cut = report->jobs[0].files[0].cut;
  EXPECT_EQ(cut.complete_call(), 2u);
  EXPECT_EQ(cut.untold, std::set<uint32_t>{0});
}

// What a warm log takes faster goes there: its segments were used before.
TEST_F(WithLargePieces, GoToAWarmLogIfTheyAreNotSoLarge) {
  constexpr DirectFrom kFrom{kLarge, 1000};
  all = open_all(scratch, path, 1, 16 << 20, false, nullptr, kFrom);
  write(0, 2000, 'c');
  EXPECT_EQ(straight(), 2000u);
  write(5000, 500, 's');
  ASSERT_TRUE(file().closing().release().ok());
  reopen(kFrom);
  write(0, 2000, 'w');
  EXPECT_EQ(straight(), 2000u);
  write(2 * kLarge, kLarge, 'L');
  EXPECT_EQ(straight(), 2000 + kLarge);
  expect_read();
  expect_file();
}

// Of a segment that was used a little, only that little is warm.
TEST_F(WithLargePieces, GoToAWarmLogAsFarAsItIsWarm) {
  constexpr DirectFrom kFrom{kLarge, 1000};
  constexpr uint64_t kPiece = 2000, kPieces = 60;
  all = open_all(scratch, path, 1, 16 << 20, false, nullptr, kFrom);
  write(0, 500, 's');
  ASSERT_TRUE(file().closing().release().ok());
  const uint64_t touched = all[0].job->medium().huge_page_bytes() == 0 ? 32 << 10 : UINT64_MAX;
  reopen(kFrom);
  for (uint64_t piece = 0; piece < kPieces; piece++) write(piece * kPiece, kPiece, 'p');
  const uint64_t logged = kPieces * kPiece - straight();
  EXPECT_GT(logged, 8 * kPiece);
  EXPECT_LE(logged, touched);
  expect_read();
  expect_file();
}

// Its first touch costs little.
TEST_F(WithLargePieces, GoToAColdLogOfHugePagesIfTheyAreNotSoLarge) {
  open_on_huge_pages({kLarge, 1000});
  write(0, 2000, 'l');
  write(kLarge - 1000, kLarge - 1, 'l');
  EXPECT_EQ(straight(), 0u);
  write(2 * kLarge, kLarge, 'L');
  EXPECT_EQ(straight(), kLarge);
  expect_read();
  expect_file();
}

// A file on tmpfs is memory itself. With a cold log twice as much of that is touched.
TEST_F(WithLargePieces, AreSmallerOnesIfTheFileIsMemory) {
  const Scratch memory;
  path = memory.log_ + "/data";
  std::ofstream(path).flush();
  all = open_all(scratch, path, 1, 16 << 20, false, nullptr, kDirectFrom);
  if (!is_memory(file().parts().shared.target->file_system()) || all[0].job->medium().huge_page_bytes() != 0)
    GTEST_SKIP() << "the log is not on a tmpfs with small pages";
  write(0, 4000, 'm');
  EXPECT_EQ(straight(), 4000u);
  write(5000, 1000, 's');
  EXPECT_EQ(straight(), 4000u);
  expect_read();
  expect_file();
}

// Not even then does a writer wait for room that a full log does not have.
TEST_F(WithLargePieces, GoStraightIfALogOfHugePagesIsFull) {
  open_on_huge_pages({kLarge, 1000});
  for (uint64_t at = 0; at < (18 << 20); at += kLarge / 2) write(at, kLarge / 2, 'l');
  EXPECT_GT(straight(), 0u);
  EXPECT_EQ(all[0].job->counters().append_wait_ns, 0u);
  expect_read();
  expect_file();
}

TEST_F(WithLargePieces, AreLoggedIfTheProgramsPausesHideTheDrain) {
  open_on_huge_pages({kLarge, kLarge, true});  // which count as warm
  IdleSightings& idle = file().parts().idle_sightings;
  const auto pause = [&idle] {
    std::this_thread::sleep_for(std::chrono::nanoseconds(Pauses::kDrainStartNs + 10'000'000));
    idle.note_idle(monotonic_ns());
  };
  uint64_t at = 0;
  const auto write_next = [&](char value) {
    write(at, kLarge, value);
    at += kLarge;
  };
  for (uint32_t i = 1; i <= Pauses::kGoodPauses; i++) {
    write_next('s');
    EXPECT_EQ(straight(), i * kLarge);
    pause();
  }
  write_next('l');
  write_next('m');
  EXPECT_EQ(straight(), Pauses::kGoodPauses * kLarge);
  ASSERT_TRUE(file().drain().ok());
  pause();
  write_next('n');
  EXPECT_EQ(straight(), Pauses::kGoodPauses * kLarge);
  pause();  // nobody drains in it
  write_next('o');
  EXPECT_EQ(straight(), (Pauses::kGoodPauses + 1) * kLarge);
  expect_read();
  expect_file();
}

// The state that a round leaves is told again behind the last large piece.
TEST_F(WithLargePieces, LeaveTheStateOfTheFileToTheNextRound) {
  open(1);
  const SharedFile& shared = file().parts().shared;
  write(8 * kLarge, 100, 's');
  ASSERT_TRUE(file().drain().ok());
  EXPECT_TRUE(shared.mark.settled_state());
  write(0, kLarge, 'L');
  EXPECT_FALSE(shared.mark.settled_state());
  write(8 * kLarge, 100, 't');
  ASSERT_TRUE(file().drain().ok());
  ASSERT_TRUE(shared.mark.settled_state());
  EXPECT_EQ(*shared.mark.settled_state(), *file().target().state());
  expect_file();
}

// Ranks side by side, with rounds by their background threads: each has its own bytes, small and large.
TEST_F(WithLargePieces, BesideOthersAndRounds) {
  constexpr uint32_t kRanks = 3;
  constexpr uint64_t kBlocks = 40, kBlock = 2 * kLarge;
  open(kRanks, true);
  oracle.bytes.resize(kRanks * kBlocks * kBlock);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < kRanks; rank++) {
    threads.emplace_back([&, rank] {
      std::mt19937_64 random(rank);
      for (uint64_t step = 0; step < 400; step++) {
        const uint64_t block = random() % kBlocks * kRanks + rank;
        const bool large = random() % 3 == 0;
        const uint64_t within = random() % (kBlock - kLarge);
        const uint64_t bytes = large ? kLarge : 1 + random() % 2000;
        const std::vector<std::byte> data(bytes, static_cast<std::byte>(random()));
        ASSERT_TRUE(file(rank).append(block * kBlock + within, data.data(), bytes, 0).ok());
        std::memcpy(oracle.bytes.data() + block * kBlock + within, data.data(), bytes);
        if (step % 50 == 0) {
          ASSERT_TRUE(file(rank).drain().ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(straight(), 0u);
  const auto size = *file().size_bytes();
  oracle.bytes.resize(size);
  expect_read();
  expect_file();
}

}  // namespace
}  // namespace pmio
