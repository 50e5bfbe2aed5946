// What is left of a file in the job's directory when processes die, cannot make what they want to make, or
// leave things for who comes later: nothing that was acknowledged is lost, and no file gets another one's
// bytes.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>

#include "base/clock.h"
#include "leaving.h"
#include "log/last_seen.h"
#include "medium/registry.h"
#include "node/control.h"
#include "span/neighbours.h"
#include "span/spanning.h"
#include "support/target_writes.h"
#include "support/wrapped_medium.h"

namespace pmio {
namespace {

struct NoNeighbours : Neighbours {
  NodePlace place_;
  const NodePlace& place() const override { return place_; }
  Result<Answer> ask(uint64_t, CallStamp, std::span<const Vector>, Purpose) override { return Answer{}; }
  Result<Held> holdings(uint64_t, uint64_t, const Interval&) override { return Held{}; }
  Status drain(uint64_t, uint64_t, bool) override { return {}; }
  Status forget(uint64_t) override { return {}; }
  Status truncated(uint64_t) override { return {}; }
  Status discard(uint64_t) override { return {}; }
};

// Refuses to create some names.
using Refusal = std::function<Status(std::string_view name)>;
class RefusingMedium final : public test::WrappedMedium {
 public:
  RefusingMedium(std::unique_ptr<Medium> medium, Refusal refusal)
      : WrappedMedium(std::move(medium)), refusal_(std::move(refusal)) {}
  Result<std::unique_ptr<Region>> create(std::string_view name, size_t bytes, bool lasting) override {
    if (Status refused = refusal_(name); !refused.ok()) return refused;
    return real().create(name, bytes, lasting);
  }

 private:
  Refusal refusal_;
};

MediumOpener refusing(const Refusal& refusal) { return test::open_wrapped<RefusingMedium>(refusal); }

TEST(Leaving, ALogIsKeptWhereNoMarkCanBeMade) {
  Place place;
  auto job = join(place, 0, 1, kLog, false);
  std::filesystem::create_symlink("/nonexistent/x", job->directory() + "/undrained");
  auto file = *job->open({place.path, false, {}});
  ASSERT_TRUE(append_byte(*file, 0, 'a'));
  {
    const test::FailingWrites full(ENOSPC);
    EXPECT_FALSE(file->closing().release().ok());
    file.reset();
    job.reset();
  }
  recover_all(place.log_);
  EXPECT_EQ(contents(place.path).size(), 1u);
}

TEST(Leaving, ALogIsKeptWhereNoDescriptorIsLeft) {
  Place place;
  ASSERT_EQ(in_child([&] {
              const rlimit few{200, 200};
              setrlimit(RLIMIT_NOFILE, &few);
              auto job = join(place, 0, 1, kLog, false);
              auto file = *job->open({place.path, false, {}});
              if (!append_byte(*file, 0, 'a')) return 1;
              while (open("/dev/null", O_RDONLY) >= 0) {
              }
              (void)file->closing().release();
              file.reset();
              job.reset();
              return 0;
            }),
            0);
  recover_all(place.log_);
  EXPECT_EQ(contents(place.path).size(), 1u);
}

TEST(Leaving, NoRoomForTheNoteOfNodesIsAnError) {
  Place place;
  EXPECT_EQ(in_child([&] {
              NoNeighbours neighbours;
              neighbours.place_.nodes = 2;
              neighbours.place_.ranks = {0};
              auto job = join(place, 0, 2, kLog, false, nullptr, refusing([](std::string_view name) {
                                return name.starts_with("nodes-") ? Status(Code::no_space, "full", ENOSPC)
                                                                  : Status();
                              }));
              Job::OpenOptions options;
              options.path = place.path;
              options.reach = Spanning::over(neighbours);
              return job->open(options).ok() ? 1 : 0;
            }),
            0);
}

TEST(Leaving, ALogThatCannotGrowIsAFullLog) {
  for (const auto& [code, error] :
       {std::pair{Code::no_space, ENOSPC}, {Code::quota, EDQUOT}, {Code::io, ENOMEM}}) {
    Place place;
    const Status full(code, "full", error);
    auto job = join(place, 0, 1, kLog, false, nullptr, refusing([&](std::string_view name) {
                      const bool more = name.starts_with("seg-0-") && name != "seg-0-0" && name != "seg-0-1";
                      return more ? full : Status();
                    }));
    auto file = *job->open({place.path, false, {}});
    const std::vector<std::byte> bytes(100'000, std::byte{'x'});
    for (uint64_t i = 0; i < 30; i++)
      ASSERT_TRUE(file->append(i * bytes.size(), bytes.data(), bytes.size(), 0).ok()) << code_name(code);
    EXPECT_TRUE(file->closing().release().ok());
    file.reset();
    EXPECT_EQ(contents(place.path).size(), 30 * bytes.size());
  }
}

// Calls of a file are counted from another beginning when it is opened again.
TEST(Leaving, ACutOfAnEarlierOpenTakesNothingFromLaterCalls) {
  Place place;
  const std::string logs[] = {place.log_ + "/a", place.log_ + "/b"};
  for (uint32_t node = 0; node < 2; node++) {
    const int how = in_child([&] {
      NoNeighbours neighbours;
      neighbours.place_ = {node, 2, {node}, {{"a", {0}}, {"b", {1}}}};
      JobOptions options;
      options.directory = logs[node];
      options.id = 0x5eed0000 + node;
      options.rank = node;
      options.ranks = 2;
      options.ranks_here = 1;
      options.of_node = {node};
      options.capacity_bytes = kLog;
      options.background = false;
      auto job = std::move(Job::join(options)).value();
      Job::OpenOptions open;
      open.path = place.path;
      open.reach = Spanning::over(neighbours);
      auto first = *job->open(open);
      if (!Spanning::of(*first).join_nodes({7, 1000, call_stamp(1000, 0), call_stamp(1000, 0), 0}).ok())
        return 1;
      // On one node the log is kept, for another file.
      if (node == 0) std::ofstream(job->directory() + "/undrained").flush();
      if (!first->closing().release().ok()) return 2;
      first.reset();
      auto file = *job->open(open);
      if (!Spanning::of(*file)
               .join_nodes({8, Spanning::of(*file).last_call(), Spanning::of(*file).horizon(),
                            Spanning::of(*file).finished_horizon(), 0})
               .ok())
        return 3;
      const std::vector<std::byte> bytes(10, std::byte{'A'});
      Spanning::of(*file).begin_call();
      if (!file->append(node * 10, bytes.data(), bytes.size(), CallNumber(1)).ok()) return 4;
      Spanning::of(*file).end_call();
      return static_cast<int>(kill(getpid(), SIGKILL));
    });
    ASSERT_EQ(how, 256 + SIGKILL);
  }
  for (const std::string& log : logs) recover_all(log);
  EXPECT_EQ(contents(place.path), std::vector<std::byte>(20, std::byte{'A'}));
}

// Who finds that it is in another place than the others leaves their note of where the log is.
TEST(Leaving, WhoDoesNotSuitTakesNoNoteAway) {
  Place place;
  const Scratch elsewhere;
  auto job = join(place, 0, 2, kLog, false);
  JobOptions options = job->options();
  options.directory = elsewhere.log_;
  options.rank = 1;
  JobPlace asked;
  options.suits = [&asked](const JobPlace& where) {
    asked = where;
    return Status(Code::access, "not here");
  };
  EXPECT_EQ(Job::join(options).status().message(), "not here");
  EXPECT_NE(asked, JobPlace());
  EXPECT_NE(asked, job->place());
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere.log_));
  const auto noted = Registry::find()->list();
  ASSERT_TRUE(noted.ok());
  ASSERT_EQ(noted.value().size(), 1u);
  EXPECT_EQ(noted.value()[0].job, options.id);
}

// By which recovery tells what the job has changed from what somebody else has later.
TEST(Leaving, AJobOfSeveralNodesSaysThatItLives) {
  for (const bool background : {true, false}) {
    Place place;
    NoNeighbours neighbours;
    neighbours.place_.nodes = 2;
    neighbours.place_.ranks = {0};
    auto job = join(place, 0, 2, kLog, background);
    const auto said = [&] { return parse_last_seen(contents(job->directory() + "/alive")); };
    EXPECT_FALSE(said());
    Job::OpenOptions options;
    options.path = place.path;
    options.reach = Spanning::over(neighbours);
    const uint64_t before = realtime_ns();
    auto file = *job->open(options);
    while (background && !said()) usleep(1000);
    EXPECT_EQ(said().has_value(), background);
    if (background) {
      EXPECT_GE(*said(), before);
      EXPECT_LE(*said(), realtime_ns());
    }
    EXPECT_TRUE(file->closing().release().ok());
  }
}

// What another file has of a log goes by itself, and takes no evidence of this one's with it.
TEST(Leaving, ARecoveryOfOneFileLeavesNothingMissingInAnother) {
  Place place;
  const std::string other = place.files_ + "/other";
  std::ofstream(other).flush();
  const std::vector<std::byte> bytes(200'000, std::byte{'x'});
  ASSERT_EQ(in_child([&] {
              auto job = join(place, 0, 1, 1 << 20, false);  // four segments, which take one of these each
              auto file = *job->open({place.path, false, {}});
              auto more = *job->open({other, false, {}});
              for (uint64_t i = 0; i < 4; i++)
                if (!file->append(i * bytes.size(), bytes.data(), bytes.size(), 0).ok()) return 1;
              // Takes one of these, which the ledger goes on naming.
              if (!file->drain().ok() || !append_byte(*more, 0, 'y') || !append_byte(*file, 1, 'b')) return 2;
              return static_cast<int>(kill(getpid(), SIGKILL));
            }),
            256 + SIGKILL);
  RecoverOptions options;
  options.directory = place.log_;
  options.path = other;
  ASSERT_TRUE(recover(options)->complete());
  EXPECT_EQ(contents(other).at(0), std::byte{'y'});
  options.path = place.path;
  options.consistent = true;
  auto report = recover(options);
  ASSERT_TRUE(report.ok());
  const FileOutcome& outcome = report->jobs.at(0).files.at(0);
  EXPECT_TRUE(outcome.gone.empty()) << outcome.gone.front().name;
  EXPECT_FALSE(outcome.misses_ranks);
}

TEST(Leaving, NothingIsLoggedThroughATargetThatCanOnlyBeRead) {
  if (geteuid() != 0) GTEST_SKIP() << "needs to become somebody else";
  EXPECT_EQ(in_child([] {
              if (setgid(65534) != 0 || setuid(65534) != 0) return 9;
              Place place;
              chmod(place.path.c_str(), 0444);
              auto job = join(place, 0, 1, kLog, false);
              auto reading = *job->open({place.path, true, {}});
              chmod(place.path.c_str(), 0644);
              const bool refused = !job->open({place.path, false, {}}).ok();
              const bool closed = reading->closing().release().ok();
              reading.reset();
              job.reset();
              return refused && closed ? 0 : 1;
            }),
            0);
}

// A process that the program has forked and that outlives it has the same descriptors.
TEST(Leaving, AForkedProcessKeepsNoJobAlive) {
  Place place;
  auto job = join(place, 0, 1, kLog, false);
  const pid_t child = fork();
  if (child == 0)
    for (;;) pause();
  auto file = *job->open({place.path, false, {}});
  ASSERT_TRUE(append_byte(*file, 0, 'a'));
  EXPECT_TRUE(file->closing().release().ok());
  file.reset();
  const std::string directory = job->directory();
  job.reset();
  EXPECT_FALSE(std::filesystem::exists(directory));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace pmio
