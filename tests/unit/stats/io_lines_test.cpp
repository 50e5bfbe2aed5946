// The lines of Cray's second level: their form, and that each is one write(2).
#include "stats/io_lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <vector>

namespace pmio {
namespace {

// What is written to stdout meanwhile; less than a pipe holds.
template <class Work>
std::string written_by(Work work) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  const int kept = dup(STDOUT_FILENO);
  dup2(ends[1], STDOUT_FILENO);
  work();
  dup2(kept, STDOUT_FILENO);
  close(kept);
  close(ends[1]);
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t n; (n = read(ends[0], part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<size_t>(n));
  close(ends[0]);
  return text;
}

TEST(IoLines, AreCrays) {
  EXPECT_EQ(written_by([] { IoLines::tell(IoLines::system_write, 1, 2, "f"); }), "") << "off";
  IoLines::start(5);
  EXPECT_EQ(written_by([] {
              IoLines::tell(IoLines::collective_write, 0, 1, "myfile");
              IoLines::tell(IoLines::collective_write, 101783616, 8478000, "/scratch/me/myfile");
              IoLines::tell(IoLines::system_read, 12345678901, 0, "x");
            }),
            "PE=00005  WCreC=00000  off=0000000000  len=0000000001  myfile\n"
            "PE=00005  WCreC=00001  off=0101783616  len=0008478000  myfile\n"
            "PE=00005  R_rec=00000  off=12345678901  len=0000000000  x\n");
}

TEST(IoLines, NeverMix) {
  constexpr int kThreads = 4, kLines = 100;
  IoLines::start(1);
  const std::string text = written_by([] {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; i++)
      threads.emplace_back([] {
        for (int line = 0; line < kLines; line++) IoLines::tell(IoLines::system_write, 7, 8, "name");
      });
    for (std::thread& thread : threads) thread.join();
  });
  constexpr size_t kBytes = sizeof("PE=00001  W_rec=00000  off=0000000007  len=0000000008  name\n") - 1;
  ASSERT_EQ(text.size(), kBytes * kThreads * kLines);
  for (size_t at = 0; at < text.size(); at += kBytes) {
    EXPECT_EQ(text.compare(at, 10, "PE=00001  "), 0);
    EXPECT_EQ(text.compare(at + kBytes - 5, 5, "name\n"), 0);
  }
}

TEST(IoLines, KeepALongNameWithinTheLine) {
  IoLines::start(1);
  const std::string text =
      written_by([] { IoLines::tell(IoLines::system_write, 0, 0, std::string(5000, 'x')); });
  EXPECT_EQ(std::count(text.begin(), text.end(), 'x'), 255);
  EXPECT_EQ(text.back(), '\n');
}

}  // namespace
}  // namespace pmio
