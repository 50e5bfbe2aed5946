#include "hints/site_file.h"

#include <gtest/gtest.h>

namespace pmio {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;
using Words = std::vector<std::string>;

TEST(SiteFile, TakesHintsAndListsAndComments) {
  const SiteFile site = parse_site_file(
      "# ours\n\n  pmio_log_size=256M  # of a rank\npmio_dir = /mnt/logs\r\n"
      "programs_off = lmp_* /opt/*/vasp\nprograms_off = x\nfile_systems_off = nfs*",
      "/etc/pmio.conf");
  EXPECT_EQ(site.hints, (Pairs{{"pmio_log_size", "256M"}, {"pmio_dir", "/mnt/logs"}}));
  EXPECT_EQ(site.programs_off, (Words{"lmp_*", "/opt/*/vasp", "x"}));
  EXPECT_EQ(site.file_systems_off, Words{"nfs*"});
  EXPECT_EQ(site.complaints, Words{});
}

TEST(SiteFile, NamesEachWrongLineAndTakesTheOthers) {
  const SiteFile site = parse_site_file(
      "pmio_log_size = many\nnonsense\nlog_size = 1M\npmio_mode =\n= off\npmio_dir = "
      "/x/$PMIO_TEST_UNSET\npmio_stats = 1\n",
      "F");
  EXPECT_EQ(site.hints, (Pairs{{"pmio_stats", "1"}}));
  ASSERT_EQ(site.complaints.size(), 6u);
  for (size_t i = 0; i < site.complaints.size(); ++i)
    EXPECT_TRUE(site.complaints[i].starts_with("F:" + std::to_string(i + 1) + ": ")) << site.complaints[i];
}

TEST(SiteFile, LeavesProgramsAndFileSystemsAloneByPatterns) {
  const SiteFile site = parse_site_file("programs_off = lmp_* /opt/*/vasp\nfile_systems_off = nfs*\n", "F");
  EXPECT_TRUE(site.leaves_alone("/usr/bin/lmp_mpi"));
  EXPECT_TRUE(site.leaves_alone("/opt/a/vasp"));
  EXPECT_FALSE(site.leaves_alone("/usr/bin/vasp"));
  EXPECT_FALSE(site.allows_file_system("nfs4"));
  EXPECT_TRUE(site.allows_file_system("lustre"));
  const SiteFile only = parse_site_file("file_systems_on = lustre fuse.*\nfile_systems_off = fuse.x", "F");
  EXPECT_TRUE(only.allows_file_system("lustre"));
  EXPECT_TRUE(only.allows_file_system("fuse.mfs"));
  EXPECT_FALSE(only.allows_file_system("fuse.x"));
  EXPECT_FALSE(only.allows_file_system("ext4"));
  EXPECT_TRUE(parse_site_file("", "F").allows_file_system("ext4"));
}

}  // namespace
}  // namespace pmio
