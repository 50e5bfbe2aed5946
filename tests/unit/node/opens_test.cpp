// How far the calls of each open have come, as ranks note it and as recovery, or a look at the running job,
// finds it.
#include "node/file_parts.h"
#include "recover/recover.h"
#include "support/node_fixture.h"

namespace pmio {
namespace {

constexpr uint64_t kCapacity = 1 << 20;  // four segments

class Opens : public testing::Test {
 protected:
  std::string make_file(const std::string& name) {
    const std::string path = scratch.files_ + "/" + name;
    std::ofstream(path).flush();
    return path;
  }

  static void write(File& file, uint64_t offset, uint64_t bytes, CallNumber call) {
    const std::vector<std::byte> data(bytes, std::byte{1});
    ASSERT_TRUE(file.append(offset, data.data(), bytes, call).ok());
  }
  static CallNumber call(uint32_t open, uint32_t number) { return {open, number, false}; }

  FileInfo scan_only_file(const std::string& directory, JobState state) {
    auto jobs = scan(directory);
    EXPECT_TRUE(jobs.ok()) << jobs.status().message();
    EXPECT_EQ(jobs->at(0).state, state);
    return jobs->at(0).files.at(0);
  }

  // What a crash at this moment would leave.
  std::string crashed() {
    const std::string copy = scratch.files_ + "/logs";
    std::filesystem::copy(scratch.log_, copy, std::filesystem::copy_options::recursive);
    std::filesystem::permissions(copy, std::filesystem::perms::owner_all);
    return copy;
  }

  Scratch scratch;
};

TEST_F(Opens, ARunningJobTellsItsProgress) {
  auto ranks = open_all(scratch, make_file("data"), 2, kCapacity);
  uint32_t open[2];
  for (uint32_t rank : {0u, 1u}) open[rank] = ranks[rank].file->opens().add(7, 2, rank);
  for (uint32_t number : {1u, 2u, 3u}) write(*ranks[0].file, 100 * number, 100, call(open[0], number));
  write(*ranks[1].file, 900, 100, call(open[1], 1));
  ranks[1].file->opens().note_empty_call(call(open[1], 2));
  const Cut cut = scan_only_file(scratch.log_, JobState::running).cut;
  ASSERT_EQ(cut.opens.size(), 1u);
  EXPECT_EQ(cut.opens[0].open, 7u);
  EXPECT_EQ(cut.complete_call(), 2u);
  EXPECT_EQ(cut.opens[0].latest, 3u);
  EXPECT_EQ(scan_only_file(crashed(), JobState::dead).cut.complete_call(), 2u);
  close_all(ranks);
}

// One rank's space is used again, another one's is not, so only that one's log tells of the first open.
TEST_F(Opens, AnOpenThatIsClosedHasNoCut) {
  auto ranks = open_all(scratch, make_file("data"), 2, kCapacity);
  uint32_t first[2], second[2];
  for (uint32_t rank : {0u, 1u}) {
    first[rank] = ranks[rank].file->opens().add(7, 2, rank);
    second[rank] = ranks[rank].file->opens().add(8, 2, rank);
    write(*ranks[rank].file, 100 * rank, 100, call(first[rank], 1));
  }
  for (Rank& rank : ranks) ASSERT_TRUE(rank.file->drain().ok());
  for (uint32_t rank : {0u, 1u}) ranks[rank].file->opens().remove(first[rank]);
  for (uint32_t number = 1; number <= 4; number++)
    write(*ranks[0].file, 1000, kCapacity / 2, call(second[0], number));
  const Cut cut = scan_only_file(crashed(), JobState::dead).cut;
  ASSERT_EQ(cut.opens.size(), 1u);
  EXPECT_EQ(cut.opens[0].open, 8u);
  EXPECT_EQ(cut.complete_call(), 0u);
  for (const Vector& range : cut.in_file) EXPECT_GE(range.offset, 1000);  // nothing of the first one
  close_all(ranks);
}

TEST_F(Opens, ACallWithoutDataDoesNotWaitForRoom) {
  auto full = open_all(scratch, make_file("full"), 1, kCapacity);
  write(*full[0].file, 0, kCapacity - 4 * kHeaderBytes - 4096, CallNumber());
  Job::OpenOptions options;
  options.path = make_file("data");
  auto file = full[0].job->open(options);
  ASSERT_TRUE(file.ok());
  const uint32_t open = (*file)->opens().add(7, 1, 0);
  (*file)->opens().note_empty_call(call(open, 1));
  EXPECT_EQ(full[0].job->counters().drain_rounds.load(), 0u);
  auto jobs = scan(crashed());
  ASSERT_TRUE(jobs.ok());
  EXPECT_GT(jobs->at(0).files.at(0).undrained_records(), 0u);
  EXPECT_TRUE((*file)->closing().release().ok());
  file = std::shared_ptr<File>();
  close_all(full);
}

TEST_F(Opens, ASegmentForItsTableAloneIsKnown) {
  auto ranks = open_all(scratch, make_file("data"), 1, kCapacity);
  File& file = *ranks[0].file;
  const uint32_t open = file.opens().add(7, 1, 0);
  EXPECT_FALSE(file.parts().appender.has_table_only());
  file.opens().note_empty_call(call(open, 1));
  EXPECT_TRUE(file.parts().appender.has_table_only());
  write(file, 0, 100, call(open, 2));
  EXPECT_FALSE(file.parts().appender.has_table_only());
  close_all(ranks);
}

TEST_F(Opens, RecordsThatAreLostAreBounded) {
  auto ranks = open_all(scratch, make_file("data"), 1, kCapacity);
  write(*ranks[0].file, 5000, 100, CallNumber());
  write(*ranks[0].file, 200, 100, CallNumber());
  const std::string logs = crashed();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(logs)) {
    if (entry.path().filename() == "seg-0-0") std::filesystem::resize_file(entry.path(), 0);
  }
  const FileInfo file = scan_only_file(logs, JobState::dead);
  ASSERT_EQ(file.lost_segments.size(), 1u);
  EXPECT_EQ(file.lost_segments[0].records, 2u);
  EXPECT_EQ(file.lost_segments[0].within, (Vector{200, 4900, 0, 1}));
  close_all(ranks);
}

}  // namespace
}  // namespace pmio
