// Many files in turn use the same control block, ledger and mark, one after the other, and nothing of one is
// ever taken for the next one's: whoever dies while they are given on, and whoever writes the files
// meanwhile.
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>

#include "node/control.h"
#include "support/node_fixture.h"
#include "support/recover_all.h"
#include "support/wrapped_medium.h"

namespace pmio {
namespace {

constexpr uint64_t kLog = 4 << 20;

using Rename = std::function<Status(Medium& real, std::string_view from, std::string_view to)>;
class RenamingMedium final : public test::WrappedMedium {
 public:
  RenamingMedium(std::unique_ptr<Medium> medium, Rename rename)
      : WrappedMedium(std::move(medium)), rename_(std::move(rename)) {}
  Status rename(std::string_view from, std::string_view to) override { return rename_(real(), from, to); }

 private:
  Rename rename_;
};

MediumOpener renaming(const Rename& rename) { return test::open_wrapped<RenamingMedium>(rename); }

class SparesTest : public testing::Test {
 protected:
  SparesTest() { setenv("PMIO_REGISTRY", scratch.files_.c_str(), 1); }

  std::string file(char name) const { return scratch.files_ + "/" + name; }
  // One more file of one byte.
  static bool write_one(Job& job, const std::string& path, char byte) {
    if (!std::filesystem::exists(path)) std::ofstream(path).flush();
    auto file = job.open({path, false, {}});
    return file.ok() && (*file)->append(0, reinterpret_cast<const std::byte*>(&byte), 1, 0).ok() &&
           (*file)->closing().release().ok();
  }
  static std::string text(const std::string& path) { return contents<std::string>(path); }
  // Names of that kind in the job's directory.
  static std::vector<std::string> names(const Job& job, const std::string& kind) {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(job.directory()))
      if (entry.path().filename().string().starts_with(kind)) found.push_back(entry.path());
    return found;
  }
  static uint64_t inode(const std::string& path) { return identity_of(path)->inode; }

  Scratch scratch;
};

TEST_F(SparesTest, FilesInTurnUseTheSame) {
  std::vector<std::unique_ptr<Job>> jobs;
  for (uint32_t rank = 0; rank < 2; rank++) jobs.push_back(join(scratch, rank, 2, kLog, rank == 0));
  uint64_t control = 0, ledger = 0;
  for (int i = 0; i < 20; i++) {
    const std::string path = file(static_cast<char>('a' + i));
    std::ofstream(path).flush();
    std::vector<std::shared_ptr<File>> open;
    for (const int first : {i % 2, 1 - i % 2})
      open.push_back(*jobs[static_cast<size_t>(first)]->open({path, false, {}}));
    const auto byte = static_cast<std::byte>('A' + i);
    ASSERT_TRUE(open[1]->append(static_cast<uint64_t>(i), &byte, 1, 0).ok());
    std::byte found{};
    uint64_t got = 0;
    ASSERT_TRUE(open[0]->read(static_cast<uint64_t>(i), &found, 1, &got).ok());
    EXPECT_EQ(found, byte) << "of the same control block";
    EXPECT_EQ(*open[0]->size_bytes(), static_cast<uint64_t>(i) + 1);
    for (auto& each : open) EXPECT_TRUE(each->closing().release().ok());
    open.clear();
    ASSERT_EQ(contents(path).size(), static_cast<size_t>(i) + 1);
    EXPECT_EQ(contents(path).back(), byte);
    const std::string key = file_key(*identity_of(path));
    // The background thread may have held a file a moment longer, and then there is one more.
    const auto now = names(*jobs[0], "file-");
    ASSERT_LE(now.size(), 4u);
    ASSERT_LE(names(*jobs[0], "ledger-").size(), 4u);
    ASSERT_LE(names(*jobs[0], "mark-").size(), 4u);
    EXPECT_EQ(names(*jobs[0], "file-" + key).size(), 1u);
    if (i == 0) {
      control = inode(now[0]);
      ledger = inode(names(*jobs[0], "ledger-")[0]);
    }
    if (now.size() == 1) {
      EXPECT_EQ(inode(now[0]), control);
      EXPECT_EQ(inode(names(*jobs[0], "ledger-")[0]), ledger);
    }
  }
  jobs.clear();
  EXPECT_TRUE(std::filesystem::is_empty(scratch.log_));
}

// More than are kept, open at once.
TEST_F(SparesTest, FewAreKept) {
  auto job = join(scratch, 0, 1, kLog, false);
  for (int round = 0; round < 2; round++) {
    std::vector<std::shared_ptr<File>> open;
    for (int i = 0; i < 30; i++) {
      const std::string path = scratch.files_ + "/" + std::to_string(i);
      std::ofstream(path).flush();
      open.push_back(*job->open({path, false, {}}));
    }
    for (auto& each : open) EXPECT_TRUE(each->closing().release().ok());
    open.clear();
    for (const char* kind : {"file-", "ledger-", "mark-"}) EXPECT_LE(names(*job, kind).size(), 8u) << kind;
  }
}

TEST_F(SparesTest, OneThatIsOpenedAgainBeginsAnew) {
  auto job = join(scratch, 0, 2, kLog, false);
  ASSERT_TRUE(write_one(*job, file('a'), '1'));
  std::ofstream(file('a'), std::ios::trunc) << "others";
  auto again = *job->open({file('a'), false, {}});
  EXPECT_FALSE(again->usage().ever_logged());
  EXPECT_EQ(*again->size_bytes(), 6u);
  const std::byte byte{'2'};
  ASSERT_TRUE(again->append(1, &byte, 1, 0).ok());
  EXPECT_TRUE(again->closing().release().ok());
  again.reset();
  EXPECT_EQ(text(file('a')), "o2hers");
  // By a rank that has not had it open.
  auto other = join(scratch, 1, 2, kLog, false);
  ASSERT_TRUE(write_one(*other, file('a'), '3'));
  ASSERT_TRUE(write_one(*job, file('a'), '4'));
  EXPECT_EQ(text(file('a')), "42hers");
}

// A process that dies before or behind each of the steps by which a file gets what another one had, or for
// which one fails: the others, and recovery, find everything in its place.
void given_on(const Scratch& scratch, const std::function<bool(Job&, const std::string&, char)>& write_one,
              const std::function<std::string(char)>& file, bool dies, int at, bool before) {
  auto other = join(scratch, 1, 2, kLog, false);
  ASSERT_TRUE(write_one(*other, file('a'), '1'));
  const pid_t child = fork();
  if (child == 0) {
    int steps = 0;
    auto job = join(scratch, 0, 2, kLog, false, nullptr,
                    renaming([&](Medium& real, std::string_view from, std::string_view to) {
                      const bool now = steps++ == at;
                      if (now && before && dies) kill(getpid(), SIGKILL);
                      if (now && !dies) return Status::from_errno(EIO, "renaming");
                      Status done = real.rename(from, to);
                      if (now && dies) kill(getpid(), SIGKILL);
                      return done;
                    }));
    const bool wrote = write_one(*job, file('a'), '2') && write_one(*job, file('b'), '2');
    if (!wrote || steps == 0) _exit(1);
    // So that its log has to be looked at.
    auto last = *job->open({file('c'), false, {}});
    const std::byte byte{'2'};
    if (!last->append(0, &byte, 1, 0).ok()) _exit(2);
    kill(getpid(), SIGKILL);
  }
  int how = 0;
  waitpid(child, &how, 0);
  ASSERT_TRUE(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL) << how;
  for (const char name : {'b', 'a', 'b'}) ASSERT_TRUE(write_one(*other, file(name), '3')) << name;
}

TEST_F(SparesTest, WhoDiesWhileTheyAreGivenOn) {
  for (const bool dies : {true, false}) {
    for (int at = 0; at < 3; at++) {
      for (const bool before : {true, false}) {
        SCOPED_TRACE(std::string(dies ? "dies" : "fails") + " at " + std::to_string(at));
        const Scratch place;
        const auto named = [&](char name) { return place.files_ + "/" + name; };
        std::ofstream(named('c')).flush();
        given_on(place, write_one, named, dies, at, before);
        EXPECT_EQ(text(named('a')), "3");
        EXPECT_EQ(text(named('b')), "3");
        RecoverOptions options;
        options.directory = place.log_;
        ASSERT_TRUE(recover(options).ok());
        EXPECT_EQ(text(named('a')), "3");
        EXPECT_EQ(text(named('b')), "3");
        EXPECT_EQ(text(named('c')), dies ? "" : "2");
      }
    }
  }
}

// A job that is killed: what the files before had is not replayed, what the last one has is.
TEST_F(SparesTest, RecoveryKnowsWhoseTheyAre) {
  const pid_t child = fork();
  if (child == 0) {
    auto job = join(scratch, 0, 1, kLog, false);
    for (const char name : {'a', 'b', 'a'})
      if (!write_one(*job, file(name), name)) _exit(1);
    std::ofstream(file('c')).flush();
    auto last = *job->open({file('c'), false, {}});
    const std::byte byte{'c'};
    if (!last->append(0, &byte, 1, 0).ok() || !last->drain().ok() || !last->append(1, &byte, 1, 0).ok())
      _exit(2);
    kill(getpid(), SIGKILL);
  }
  int how = 0;
  waitpid(child, &how, 0);
  ASSERT_TRUE(WIFSIGNALED(how)) << how;
  for (const char name : {'a', 'b'}) std::ofstream(file(name), std::ios::trunc) << "later";
  EXPECT_EQ(text(file('c')), "c");
  recover_all(scratch);
  EXPECT_EQ(text(file('a')), "later");
  EXPECT_EQ(text(file('b')), "later");
  EXPECT_EQ(text(file('c')), "cc");
}

}  // namespace
}  // namespace pmio
