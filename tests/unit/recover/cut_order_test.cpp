// The consistent cut after any calls, also by recoveries that are killed.
#include <signal.h>
#include <sys/wait.h>

#include "cut_fixture.h"

namespace pmio::test {
namespace {

class CutInAnyOrder : public CutTest {
 protected:
  static constexpr uint32_t kRanks = 3, kCut = 5;

  // What the calls of a job leave; the last ones of rank 0 are missing.
  void log_calls() {
    CrashedJob job(logs, 1, kRanks);
    for (uint32_t rank = 0; rank < kRanks; rank++) declare(job, rank, 0, kRanks);
    for (uint32_t call = 1; call <= kCut + 3; call++)
      for (uint32_t rank = call > kCut ? 1 : 0; rank < kRanks; rank++) log_call(job, rank, call);
    settle(job);
  }
  void log_call(CrashedJob& job, uint32_t rank, uint32_t call) {
    const Vector where = random_range(random, 2000, 100, 100);
    SegmentWriter& writer = job.segment(rank, 0, target).writer;
    if (call > 1 && random() % 3 == 0) {
      const Bytes data = random_bytes(random, where.bytes());
      writer.append(where, data.data(), ++stamp_, independent_after(call - 1), true);
      all.write(where, data);
      if (call - 1 < kCut) cut.write(where, data);
    }
    const Bytes own = random_bytes(random, where.bytes());
    writer.append(where, own.data(), ++stamp_, collective(call), true);
    ASSERT_TRUE(writer.fence().ok());
    all.write(where, own);
    if (call <= kCut) cut.write(where, own);
  }
  // ahead: a recovery without a cut may have written some of it.
  void recover_and_look(const RecoverOptions& options, bool ahead) {
    report = run(options);
    const FileOutcome& outcome = report.jobs.at(0).files.at(0);
    EXPECT_EQ(outcome.result, FileResult::cut);
    EXPECT_EQ(outcome.cut.complete_call(), kCut);
    EXPECT_TRUE(!ahead || !outcome.cut.perhaps_in_file.empty());
    EXPECT_TRUE(ahead || options.dry_run || read_file(target) == cut.bytes);
  }
  void recover_and_die(RecoverOptions options) {
    const pid_t child = fork();
    if (child == 0) {
      const bool synced = random() % 2 == 0;
      options.progress = [synced](const RecoverProgress& now) {
        if (!synced || now.step == RecoverStep::synced) raise(SIGKILL);
      };
      _exit(recover(options).ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
  }

  std::mt19937_64 random{11};
  Oracle all, cut;
};

TEST_F(CutInAnyOrder, AndKilledAnywhere) {
  for (int round = 0; round < 60; round++) {
    SCOPED_TRACE(round);
    write_file(target, {});
    all = cut = Oracle();
    log_calls();
    bool ahead = false;
    for (int i = 0; i < 6; i++) {
      RecoverOptions options;
      options.directory = logs;
      options.consistent = random() % 2 == 0;
      options.dry_run = random() % 4 == 0;
      const bool kill = !options.consistent || random() % 2 == 0;
      ahead = ahead || (!options.consistent && !options.dry_run);
      kill ? recover_and_die(options) : recover_and_look(options, ahead);
    }
    EXPECT_TRUE(run().complete());
    EXPECT_EQ(read_file(target), all.bytes);
    EXPECT_TRUE(left().empty());
  }
}

}  // namespace
}  // namespace pmio::test
