// What a killed rank had logged of a file that is gone or that somebody has written since: no file gets
// another one's bytes, and nothing older is put over what is newer.
#include <unistd.h>

#include "leaving.h"

namespace pmio {
namespace {

// A file that has got the inode number of one that is gone, which a rank had logged to when it was killed.
void inode_used_again(bool drained_before) {
  Place place;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t victim = fork();
  if (victim == 0) {
    auto job = join(place, 1, 2, kLog, false);
    auto file = *job->open({place.path, false, {}});
    const std::vector<std::byte> old(100, std::byte{'x'});
    if (!file->append(0, old.data(), old.size(), 0).ok()) _exit(1);
    if (write(ready[1], "r", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  auto job = join(place, 0, 2, kLog, false);
  kill(victim, SIGKILL);
  waitpid(victim, nullptr, 0);
  const auto before = *identity_of(place.path);
  if (drained_before) {  // as by MPI_File_delete
    auto found = job->find(before, place.path);
    ASSERT_TRUE(found.ok() && *found);
    ASSERT_TRUE((*found)->drain().ok());
  }
  std::filesystem::remove(place.path);
  std::ofstream(place.path).flush();
  if (identity_of(place.path)->inode != before.inode) GTEST_SKIP() << "the file system uses no number again";
  auto file = *job->open({place.path, false, {}});
  ASSERT_TRUE(append_byte(*file, 0, 'y'));
  EXPECT_EQ(*file->size_bytes(), 1u);
  std::byte found[200];
  uint64_t got = 0;
  EXPECT_TRUE(file->read(0, found, sizeof found, &got).ok());
  EXPECT_EQ(got, 1u);
  EXPECT_TRUE(file->closing().release().ok());
  file.reset();
  EXPECT_EQ(contents(place.path).size(), 1u);
}

TEST(LeftByTheDead, AFileThatGotTheNumberOfOneThatIsGone) { inode_used_again(false); }
TEST(LeftByTheDead, AFileThatGotTheNumberOfOneThatIsDrainedAndGone) { inode_used_again(true); }

// What a killed rank had logged is not served over what others have written since nobody had the file open.
TEST(LeftByTheDead, BytesOfTheDeadAreNotServedOverLaterOnes) {
  Place place;
  auto job = join(place, 0, 2, kLog, false);
  ASSERT_EQ(in_child([&] {
              auto other = join(place, 1, 2, kLog, false);
              auto file = *other->open({place.path, false, {}});
              if (!append_byte(*file, 0, 'x') || !append_byte(*file, 50, 'x') || !file->drain().ok())
                return 1;
              return static_cast<int>(kill(getpid(), SIGKILL));
            }),
            256 + SIGKILL);
  std::ofstream(place.path, std::ios::trunc) << "later";
  auto file = *job->open({place.path, false, {}});
  EXPECT_EQ(*file->size_bytes(), 5u);
  std::byte found[200];
  uint64_t got = 0;
  EXPECT_TRUE(file->read(0, found, sizeof found, &got).ok());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(found), got), "later");
  EXPECT_TRUE(file->closing().release().ok());
}

// Nor is it put over them by the recovery of a job that is killed later.
void dead_is_overwritten(bool log_is_kept) {
  Place place;
  ASSERT_EQ(in_child([&] {
              auto job = join(place, 0, 2, kLog, false);
              const int how = in_child([&] {
                auto other = join(place, 1, 2, kLog, false);
                auto file = *other->open({place.path, false, {}});
                if (!append_byte(*file, 0, 'x')) return 1;
                return static_cast<int>(kill(getpid(), SIGKILL));
              });
              if (how != 256 + SIGKILL) return 2;
              if (log_is_kept) std::ofstream(job->directory() + "/undrained").flush();
              for (const char value : {'y', 'z'}) {
                auto file = *job->open({place.path, false, {}});
                if (!append_byte(*file, 0, value) || !file->closing().release().ok()) return 3;
              }
              return static_cast<int>(kill(getpid(), SIGKILL));
            }),
            256 + SIGKILL);
  EXPECT_EQ(contents(place.path), std::vector<std::byte>(1, std::byte{'z'}));
  recover_all(place.log_);
  EXPECT_EQ(contents(place.path), std::vector<std::byte>(1, std::byte{'z'}));
}

TEST(LeftByTheDead, BytesOfTheDeadAreNotReplayedOverLaterOnes) { dead_is_overwritten(false); }
TEST(LeftByTheDead, BytesOfTheDeadAreNotReplayedWhereTheLogIsKept) { dead_is_overwritten(true); }

}  // namespace
}  // namespace pmio
