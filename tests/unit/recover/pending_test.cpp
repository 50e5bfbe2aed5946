// What an open finds of other jobs' logs, although it looks into those of the dead only once.
#include <fcntl.h>
#include <sys/file.h>

#include "fixture.h"

namespace pmio::test {
namespace {

class Pending : public RecoverTest {
 protected:
  void crash(uint64_t id, const std::string& path, std::byte value) const {
    CrashedJob(logs, id, 1).write(0, 0, path, {0, 10, 0, 1}, Bytes(10, value), 1);
  }
  std::string other() const { return target + "-other"; }
  static void bring_in(const std::string& logs, const std::string& path) {
    const Status pending = recover_pending(logs, identity(path), path, 77);
    EXPECT_TRUE(pending.ok()) << pending.message();
  }
  // Longer than what is told apart by times only.
  void look_again() const {
    for (int i = 0; i < 2; i++) {
      usleep(150'000);
      bring_in(logs, other());
    }
  }
};

TEST_F(Pending, JobsThatDieLaterAreSeen) {
  write_file(other(), {});
  const Bytes bytes(10, std::byte{3});
  // One that runs, and has logged nothing of it so far.
  crash(1, target, std::byte{1});
  const int alive = open((logs + "/job-0000000000000001/alive").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(alive, LOCK_SH), 0);
  look_again();
  EXPECT_TRUE(read_file(other()).empty());
  {
    CrashedJob more(logs, 1, 1);
    more.write(0, 1, other(), {0, 10, 0, 1}, bytes, 1);
  }
  ASSERT_EQ(close(alive), 0);
  bring_in(logs, other());
  EXPECT_EQ(read_file(other()), bytes);
  EXPECT_TRUE(read_file(target).empty());
}

TEST_F(Pending, JobsThatComeLaterAreSeen) {
  write_file(other(), {});
  crash(1, target, std::byte{1});
  look_again();
  for (const auto value : {std::byte{2}, std::byte{3}}) {
    crash(static_cast<uint64_t>(value), other(), value);
    bring_in(logs, other());
    EXPECT_EQ(read_file(other()), Bytes(10, value));
  }
  bring_in(logs, target);
  EXPECT_EQ(read_file(target), Bytes(10, std::byte{1}));
}

// What was known of it is not, once something is put into its directory.
TEST_F(Pending, ALogThatIsAddedToADeadJobIsSeen) {
  write_file(other(), {});
  crash(1, target, std::byte{1});
  look_again();
  CrashedJob(logs, 1, 1).write(0, 1, other(), {0, 10, 0, 1}, Bytes(10, std::byte{4}), 1);
  bring_in(logs, other());
  EXPECT_EQ(read_file(other()), Bytes(10, std::byte{4}));
}

}  // namespace
}  // namespace pmio::test
