#include "job/rendezvous.h"

#include "support/node_fixture.h"

namespace pmio {
namespace {

uint64_t some_job() { return std::random_device()() * uint64_t{0x9e3779b97f4a7c15} + 1; }

TEST(Rendezvous, OthersSeeTheCountAndTheNameGoes) {
  const uint64_t job = some_job();
  auto first = Rendezvous::create(job);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_FALSE(Rendezvous::create(job).ok());
  auto second = Rendezvous::open(job);
  ASSERT_TRUE(second.ok()) << second.status().message();
  Rendezvous::remove_name(job);
  EXPECT_FALSE(Rendezvous::open(job).ok());
  EXPECT_EQ((*second)->files_logged(), 0u);
  (*first)->files_logged()++;
  EXPECT_EQ((*second)->files_logged(), 1u);
}

TEST(Rendezvous, TheFirstDirectoryThatCanBeJoinedIsEverybodys) {
  const uint64_t job = some_job();
  auto all = Rendezvous::create(job);
  ASSERT_TRUE(all.ok()) << all.status().message();
  Rendezvous::remove_name(job);
  std::vector<std::string> tried;
  const auto join = [&](const std::string& proposed, bool works) {
    return (*all)->with_directory(proposed, [&](const std::string& directory) {
      tried.push_back(directory);
      return works ? Status() : Status(Code::access, "not for you");
    });
  };
  EXPECT_FALSE(join("/a", false).ok());
  EXPECT_TRUE(join("/much/longer", true).ok());
  EXPECT_TRUE(join("/c", true).ok());
  EXPECT_FALSE(join("/d", false).ok());
  EXPECT_FALSE(join("", true).ok());
  EXPECT_FALSE(join(std::string(5000, '/'), true).ok());
  EXPECT_EQ(tried, (std::vector<std::string>{"/a", "/much/longer", "/much/longer", "/much/longer"}));
}

TEST(Rendezvous, AProcessThatIsAloneHasOneWithoutAName) {
  auto alone = Rendezvous::create_alone();
  ASSERT_TRUE(alone.ok()) << alone.status().message();
  EXPECT_EQ((*alone)->files_logged(), 0u);
  EXPECT_TRUE((*alone)->first_to_say("once"));
  EXPECT_FALSE((*alone)->first_to_say("once"));
  std::string joined;
  const auto join = [&](const std::string& directory) {
    joined = directory;
    return Status();
  };
  EXPECT_TRUE((*alone)->with_directory("/a", join).ok());
  EXPECT_EQ(joined, "/a");
}

TEST(Rendezvous, AllButTheFirstJoinAtTheSameTime) {
  const uint64_t job = some_job();
  auto all = Rendezvous::create(job);
  ASSERT_TRUE(all.ok()) << all.status().message();
  Rendezvous::remove_name(job);
  std::atomic<int> joining{0};
  const auto join_with = [&](int others) {
    const Status joined = (*all)->with_directory("/a", [&](const std::string&) -> Status {
      joining++;
      while (joining < others) std::this_thread::yield();
      return (*all)->agree_on({.device = 1, .inode = 2, .processes = 3});
    });
    EXPECT_TRUE(joined.ok()) << joined.message();
  };
  join_with(1);
  std::thread second(join_with, 3);
  join_with(3);
  second.join();
}

TEST(Rendezvous, AThingIsSaidOnce) {
  const uint64_t job = some_job();
  auto first = Rendezvous::create(job);
  ASSERT_TRUE(first.ok()) << first.status().message();
  auto second = Rendezvous::open(job);
  Rendezvous::remove_name(job);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_TRUE((*first)->first_to_say("no room for '/x/seg-0-12': full"));
  EXPECT_FALSE((*second)->first_to_say("no room for '/x/seg-3-4': full"));
  EXPECT_TRUE((*second)->first_to_say("no room for '/y/seg-3-4': full"));
  EXPECT_TRUE((*first)->first_to_say("file.1"));
  EXPECT_TRUE((*first)->first_to_say("file.2"));
  for (int i = 0; i < 1000; i++) (*first)->first_to_say(std::to_string(i));
  EXPECT_TRUE((*second)->first_to_say("much has been said"));
}

// The same name may lead elsewhere in another rank's container.
TEST(Rendezvous, AllJoinOnePlace) {
  const uint64_t job = some_job();
  auto all = Rendezvous::create(job);
  ASSERT_TRUE(all.ok()) << all.status().message();
  Rendezvous::remove_name(job);
  const auto join = [&](uint64_t inode, bool works, uint64_t processes = 7) {
    return (*all)->with_directory("/a", [&](const std::string&) -> Status {
      PMIO_TRY((*all)->agree_on({1, inode, processes}));
      return works ? Status() : Status(Code::access, "not for you");
    });
  };
  EXPECT_FALSE(join(1, false).ok());
  EXPECT_TRUE(join(2, true).ok());
  EXPECT_TRUE(join(2, true).ok());
  const Status elsewhere = join(3, true);
  EXPECT_EQ(elsewhere.code(), Code::access);
  EXPECT_NE(elsewhere.message().find("'/a'"), std::string::npos) << elsewhere.message();
  const Status alone = join(2, true, 8);
  EXPECT_EQ(alone.code(), Code::access);
  EXPECT_NE(alone.message().find("--pid"), std::string::npos) << alone.message();
}

// What Rendezvous::files_logged promises, at the moment when it is raised.
TEST(Rendezvous, CountsTheFirstSegmentOfARankInAFile) {
  Scratch scratch;
  const std::string path = scratch.files_ + "/data";
  std::ofstream(path).flush();
  std::atomic<uint64_t> files_logged{0};
  const std::vector<std::byte> data(1000, std::byte{1});
  for (uint64_t round = 0; round < 3; round++) {
    auto all = open_all(scratch, path, 2, 1 << 20, false, &files_logged);
    EXPECT_FALSE(all[1].file->usage().ever_logged());
    EXPECT_EQ(files_logged, 2 * round);
    for (int i = 0; i < 3; i++) ASSERT_TRUE(all[0].file->append(0, data.data(), data.size(), 0).ok());
    EXPECT_TRUE(all[1].file->usage().ever_logged());
    EXPECT_EQ(files_logged, 2 * round + 1);
    ASSERT_TRUE(all[1].file->append(0, data.data(), data.size(), 0).ok());
    EXPECT_EQ(files_logged, 2 * round + 2);
    close_all(all);
  }
}

TEST(Job, FindsWhatAnotherRankHasOpenAndNoOtherFileOfThatName) {
  Scratch scratch;
  const std::string path = scratch.files_ + "/data";
  std::ofstream(path).flush();
  const auto job = join(scratch, 0, 2, 1 << 20, false);
  const auto other = join(scratch, 1, 2, 1 << 20, false);
  Job::OpenOptions options;
  options.path = path;
  auto file = job->open(options);
  ASSERT_TRUE(file.ok()) << file.status().message();
  const FileIdentity identity = (*file)->identity();
  auto found = other->find(identity, path);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_NE(*found, nullptr);
  *found = nullptr;
  std::filesystem::rename(path, path + "-moved");
  std::ofstream(path).flush();
  EXPECT_FALSE(other->find(identity, path).ok());
  auto moved = other->find(identity, path + "-moved");
  ASSERT_TRUE(moved.ok()) << moved.status().message();
  EXPECT_NE(*moved, nullptr);
  *moved = nullptr;
  EXPECT_TRUE((*file)->closing().release().ok());
}

}  // namespace
}  // namespace pmio
