// What the nodes of a job have noted of each other, written once and for all by
// tests/golden/make_nodes_v2.py, stays readable.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "log/nodes_note.h"
#include "recover/journal.h"
#include "support/bytes.h"

namespace pmio {
namespace {

const std::filesystem::path kGolden = std::filesystem::path(PMIO_TESTS_DIRECTORY) / "golden";

void expect_members(std::span<const NodeMembers> members) {
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].host, "n0");
  EXPECT_EQ(members[0].ranks, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(members[1].host, "node-one");
  EXPECT_EQ(members[1].ranks, (std::vector<uint32_t>{1, 3, 4}));
}

TEST(Golden, NodesNoteVersion2) {
  const auto note = parse_nodes_note(contents(kGolden / "nodes-v2.bin"));
  ASSERT_TRUE(note);
  EXPECT_EQ(note->path, "/scratch/run/out.nc");
  EXPECT_EQ(note->target, (FileIdentity{0xfe00, 4711, 1'700'000'000'000'000'000}));
  EXPECT_EQ(note->place.node, 1u);
  EXPECT_EQ(note->place.nodes, 2u);
  EXPECT_EQ(note->place.ranks, (std::vector<uint32_t>{1, 3, 4}));
  expect_members(note->place.members);
}

TEST(Golden, JournalVersion1) {
  const std::string path = testing::TempDir() + "journal-" + std::to_string(getpid());
  std::filesystem::copy_file(kGolden / "journal-v1.bin", path);
  const auto opened = Journal::look(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  ASSERT_TRUE(opened.value());
  const Journal& journal = *opened.value();
  EXPECT_EQ(journal.base(), 7u);
  const auto claims = journal.claims_of_others(0);
  ASSERT_EQ(claims.size(), 2u);
  EXPECT_EQ(claims[0].range, (Vector{1000, 21, 0, 1}));
  EXPECT_EQ(claims[0].stamp, 9u);
  EXPECT_EQ(claims[1].range, (Vector{4096, 8, 32, 3}));
  EXPECT_EQ(claims[1].rank, 4u);
  EXPECT_TRUE(journal.claims_of_others(1).empty()) << "of a torn chunk";
  const auto left = journal.waits_for();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].node, 0u);
  EXPECT_EQ(left[0].members.host, "n0");
}

}  // namespace
}  // namespace pmio
