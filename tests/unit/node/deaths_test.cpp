// A rank is killed at each of its stores into what the ranks share, one after the other: those that go on,
// and the recovery of what they leave, find every byte that was acknowledged, and no older one in its place.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "log/ledger.h"
#include "log/target_mark.h"
#include "node/control.h"
#include "support/node_fixture.h"
#include "support/recover_all.h"
#include "support/wrapped_medium.h"

namespace pmio {
namespace {

#if defined(__x86_64__)
#define PMIO_SINGLE_STEPS 1
#else
#define PMIO_SINGLE_STEPS 0
#endif

#if PMIO_SINGLE_STEPS
struct Part {
  std::byte* begin;
  size_t length;
};
constexpr size_t kMostParts = 64;
Part parts[kMostParts];
size_t part_count = 0;
uint64_t stores_left = 0;
size_t opened = 0;  // part whose next store is under way

constexpr unsigned kPatience = 60;  // seconds
constexpr uint64_t kFewest = 10;    // stores; fewer: something is wrong with this test
// A rank dies before each store. Under a sanitizer, which is ten times as slow and looks for other faults,
// before one of so many.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kStep = 7;
#else
constexpr uint64_t kStep = 1;
#endif

void protect(const Part& part, int how) { mprotect(part.begin, part.length, how); }

void protect_all(int how) {
  for (size_t i = 0; i < part_count; i++) protect(parts[i], how);
}

constexpr greg_t kTrap = 0x100;

void before_store(int, siginfo_t* info, void* context) {
  const auto* at = static_cast<const std::byte*>(info->si_addr);
  for (opened = 0; opened < part_count; opened++)
    if (at >= parts[opened].begin && at < parts[opened].begin + parts[opened].length) break;
  if (opened == part_count) _exit(3);
  if (stores_left-- == 0) {
    // The kernel marks the locks that this process holds.
    protect_all(PROT_READ | PROT_WRITE);
    kill(getpid(), SIGKILL);
  }
  protect(parts[opened], PROT_READ | PROT_WRITE);
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] |= kTrap;
}

void behind_store(int, siginfo_t*, void* context) {
  protect(parts[opened], PROT_READ);
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kTrap;
}

// From here on this process does so many stores into the files of the log, and dies before the next.
void die_after(uint64_t stores, const std::string& log) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    char access[5] = {};
    if (line.find(log) == std::string::npos ||
        std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access) != 3 || access[1] != 'w')
      continue;
    if (part_count == kMostParts) _exit(4);
    parts[part_count++] = {reinterpret_cast<std::byte*>(begin), end - begin};
  }
  stores_left = stores;
  struct sigaction action {};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = before_store;
  sigaction(SIGSEGV, &action, nullptr);
  action.sa_sigaction = behind_store;
  sigaction(SIGTRAP, &action, nullptr);
  protect_all(PROT_READ);
}

constexpr uint64_t kBytes = 300;  // as many records, in descending order: so many are merged by a read

bool write_all(File& file, char value) {
  const auto byte = static_cast<std::byte>(value);
  for (uint64_t at = kBytes; at-- > 0;)
    if (!file.append(at, &byte, 1, 0).ok()) return false;
  return true;
}

bool reads(File& file, char value) {
  std::byte found[kBytes];
  uint64_t got = 0;
  return file.read(0, found, kBytes, &got).ok() && got == kBytes &&
         std::count(found, found + kBytes, static_cast<std::byte>(value)) == static_cast<ptrdiff_t>(kBytes);
}

// Has no room for the index.
class FullMedium final : public test::WrappedMedium {
 public:
  using WrappedMedium::WrappedMedium;
  Result<std::unique_ptr<Region>> create(std::string_view name, size_t size_bytes, bool lasting) override {
    if (name.starts_with("run-")) return Status(Code::no_space, "full", ENOSPC);
    return real().create(name, size_bytes, lasting);
  }
};

const MediumOpener open_full = test::open_wrapped<FullMedium>();

bool holds(const std::string& path, char value) {
  const auto bytes = contents(path);
  return bytes.size() >= kBytes &&
         std::count(bytes.begin(), bytes.begin() + kBytes, static_cast<std::byte>(value)) ==
             static_cast<ptrdiff_t>(kBytes);
}

#endif

class Deaths : public testing::Test {
 protected:
  Deaths() : path(scratch.files_ + "/data") {
    setenv("PMIO_REGISTRY", scratch.files_.c_str(), 1);
    std::ofstream(path).flush();
    void* memory = mmap(nullptr, sizeof(Stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    stage = new (memory) Stage;
  }
  ~Deaths() override { munmap(stage, sizeof(Stage)); }

  struct Stage {
    std::atomic<bool> ready{false}, dead{false};
  };
  struct Process {
    std::unique_ptr<Job> job;
    std::shared_ptr<File> file;
  };
  Process process(uint32_t rank, const MediumOpener& open_log = open_medium) const {
    Process self{join(scratch, rank, 2, 4 << 20, false, nullptr, open_log), nullptr};
    self.file = *self.job->open({path, false, {}});
    return self;
  }
  static void await(const std::atomic<bool>& flag) {
    while (!flag) usleep(100);
  }

#if PMIO_SINGLE_STEPS
  // Rank 0 dies after so many stores of act, then rank 1 survives; both are gone on return. False: rank 0 has
  // got to its end before.
  bool dies(uint64_t stores, const std::function<Process()>& survivor_prepares,
            const std::function<Process()>& victim_prepares, const std::function<void(Process&)>& act,
            const std::function<int(Process&)>& survive) {
    stage->ready = stage->dead = false;
    std::filesystem::resize_file(path, 0);
    const pid_t survivor = fork();
    if (survivor == 0) {
      alarm(kPatience);
      auto self = survivor_prepares();
      stage->ready = true;
      await(stage->dead);
      if (const int failed = survive(self); failed != 0) _exit(failed);
      kill(getpid(), SIGKILL);
    }
    const pid_t victim = fork();
    if (victim == 0) {
      alarm(kPatience);
      await(stage->ready);
      auto self = victim_prepares();
      die_after(stores, scratch.log_);
      act(self);
      protect_all(PROT_READ | PROT_WRITE);
      _exit(0);
    }
    int how = 0;
    waitpid(victim, &how, 0);
    const bool ended = WIFEXITED(how);
    EXPECT_TRUE(ended ? WEXITSTATUS(how) == 0 : WTERMSIG(how) == SIGKILL)
        << "the victim, after " << stores << " stores: " << how;
    stage->dead = true;
    waitpid(survivor, &how, 0);
    EXPECT_TRUE(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL)
        << "the survivor, after " << stores << " stores: exit " << WEXITSTATUS(how) << ", " << how;
    return !ended;
  }
#endif

  Scratch scratch;
  std::string path;
  Stage* stage = nullptr;
};

// Whoever leaves last has not opened the file: nobody has drained it.
TEST_F(Deaths, LastToLeaveKeepsWhatADeadRankHasLogged) {
  const std::byte byte{'a'};
  const pid_t victim = fork();
  if (victim == 0) {
    Process self = process(0);
    if (!self.file->append(0, &byte, 1, 0).ok()) _exit(1);
    stage->ready = true;
    for (;;) pause();
  }
  await(stage->ready);
  auto other = join(scratch, 1, 2, 4 << 20, false);
  kill(victim, SIGKILL);
  waitpid(victim, nullptr, 0);
  other.reset();
  recover_all(scratch);
  EXPECT_EQ(contents(path), std::vector<std::byte>(1, byte));
}

// What a process leaves that dies while it is the first to open a file, or the last to leave it.
TEST_F(Deaths, WhoOpensTheFirstTimeOrLeavesTheLastTime) {
  const std::byte byte{'a'};
  auto job = join(scratch, 1, 2, 4 << 20, false);
  const auto use = [&](const std::string& which) {
    auto file = job->open({which, false, {}});
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_TRUE((*file)->append(0, &byte, 1, 0).ok());
    EXPECT_TRUE((*file)->closing().release().ok());
  };
  const auto key_of = [](const std::string& which) {
    return file_key(*(*TargetFile::open(which, TargetFile::Access::read_only))->identity());
  };
  ASSERT_TRUE(job->medium().create("file-" + key_of(path), control_bytes(2)).ok());
  use(path);
  const std::string other = path + "-other";
  std::ofstream(other).flush();
  ASSERT_TRUE(Ledger::create(job->medium(), "ledger-" + key_of(other), 2 * kMaxSegments).ok());
  ASSERT_TRUE(TargetMark::create(job->medium(), "mark-" + key_of(other)).ok());
  use(other);
  use(path);
  job.reset();
  for (const std::string& which : {path, other}) EXPECT_EQ(contents(which), std::vector<std::byte>(1, byte));
  EXPECT_TRUE(std::filesystem::is_empty(scratch.log_));
}

TEST_F(Deaths, WhoWasToDrainWhenAllAreIdle) {
  const std::byte byte{'a'};
  const pid_t victim = fork();
  if (victim == 0) {
    Process self = process(0);
    if (!self.file->append(0, &byte, 1, 0).ok()) _exit(1);
    stage->ready = true;
    for (;;) pause();
  }
  await(stage->ready);
  auto job = join(scratch, 1, 2, 4 << 20, true);
  auto file = *job->open({path, false, {}});
  kill(victim, SIGKILL);
  waitpid(victim, nullptr, 0);
  EXPECT_TRUE(file->append(1, &byte, 1, 0).ok());
  const std::vector<std::byte> both(2, byte);
  for (int wait = 0; wait < 3000 && contents(path) != both; wait++) usleep(10'000);
  EXPECT_EQ(contents(path), both);
  EXPECT_TRUE(file->closing().release().ok());
}

#if PMIO_SINGLE_STEPS
TEST_F(Deaths, LeaderOfARound) {
  bool more = true;
  uint64_t stores = 0;
  for (; more && !HasFailure(); stores += kStep) {
    more = dies(
        stores,
        [&] {
          Process self = process(1);
          File& file = *self.file;
          // Three runs, the first of which goes when the third comes: the newest is then before the older
          // one.
          EXPECT_TRUE(write_all(file, '-') && file.drain().ok());
          EXPECT_TRUE(write_all(file, 'a') && reads(file, 'a'));
          file.changes().invalidate_cache();
          EXPECT_TRUE(write_all(file, 'b') && reads(file, 'b'));
          return self;
        },
        [&] { return process(0); }, [](Process& self) { (void)self.file->drain(); },
        [&](Process& self) {
          File& file = *self.file;
          if (!reads(file, 'b')) return 11;
          if (!file.drain().ok()) return 12;
          if (!holds(path, 'b')) return 13;
          for (const char value : {'c', 'd'}) {
            if (!write_all(file, value)) return 14;
            if (!reads(file, value)) return 15;
            if (!file.drain().ok()) return 16;
            if (!holds(path, value)) return 17;
          }
          return 0;
        });
    recover_all(scratch);
    EXPECT_TRUE(holds(path, 'd')) << "after " << stores << " stores";
  }
  EXPECT_GE(stores, kFewest);
}

// What it drains is in no run, or some of it is: of all that the newest bytes stay.
TEST_F(Deaths, LeaderOfARoundWithoutRoomForItsIndex) {
  for (const bool read_before : {false, true}) {
    for (const bool full : {false, true}) {
      bool more = true;
      uint64_t stores = 0;
      for (; more && !HasFailure(); stores += kStep) {
        more = dies(
            stores,
            [&] {
              Process self = process(1, full && !read_before ? open_full : open_medium);
              EXPECT_TRUE(write_all(*self.file, 'a'));
              EXPECT_TRUE(!read_before || reads(*self.file, 'a'));
              return self;
            },
            [&] {
              Process self = process(0, open_full);
              EXPECT_TRUE(write_all(*self.file, 'b'));
              return self;
            },
            [](Process& self) { (void)self.file->drain(); },
            [&](Process& self) {
              if (full && !reads(*self.file, 'b')) return 11;
              if (!self.file->drain().ok()) return 12;
              if (!holds(path, 'b')) return 13;
              if (!write_all(*self.file, 'c')) return 14;
              if (!reads(*self.file, 'c')) return 15;
              if (!self.file->drain().ok()) return 16;
              return holds(path, 'c') ? 0 : 17;
            });
        recover_all(scratch);
        EXPECT_TRUE(holds(path, 'c')) << "after " << stores << " stores";
      }
      EXPECT_GE(stores, kFewest);
    }
  }
}

TEST_F(Deaths, WhoGivesASegmentBack) {
  bool more = true;
  uint64_t stores = 0;
  for (; more && !HasFailure(); stores += kStep) {
    more = dies(
        stores, [&] { return process(1); },
        [&] {
          Process self = process(0);
          EXPECT_TRUE(write_all(*self.file, 'a') && self.file->drain().ok());
          return self;
        },
        [](Process& self) { (void)self.file->closing().release(); },
        [&](Process& self) {
          if (!write_all(*self.file, 'b') || !reads(*self.file, 'b')) return 11;
          if (!self.file->drain().ok()) return 12;
          return holds(path, 'b') ? 0 : 13;
        });
    recover_all(scratch);
    EXPECT_TRUE(holds(path, 'b')) << "after " << stores << " stores";
  }
  EXPECT_GT(stores, kFewest);
}

// What it had not returned from, others have overwritten since.
TEST_F(Deaths, WhoLogs) {
  bool more = true;
  uint64_t stores = 0;
  for (; more && !HasFailure(); stores += kStep) {
    more = dies(
        stores, [&] { return process(1); },
        [&] {
          Process self = process(0);
          const std::byte other{'-'};
          EXPECT_TRUE(self.file->append(kBytes, &other, 1, 0).ok());
          return self;
        },
        [](Process& self) {
          const std::vector<std::byte> bytes(kBytes, std::byte{'a'});
          (void)self.file->append(0, bytes.data(), bytes.size(), 0);
        },
        [&](Process& self) {
          if (!write_all(*self.file, 'b')) return 11;
          if (!self.file->drain().ok()) return 12;
          return holds(path, 'b') ? 0 : 13;
        });
    recover_all(scratch);
    EXPECT_TRUE(holds(path, 'b')) << "after " << stores << " stores";
  }
  EXPECT_GT(stores, kFewest);
}
#endif

}  // namespace
}  // namespace pmio
