// Limits of memory are found wherever control groups show them: version 1, version 2, both, in containers
// with and without a namespace of their own, nested; and text that is none of these is no limit.
#include "base/memory_limits.h"

#include <gtest/gtest.h>

#include <map>

#include "base/cgroup.h"

namespace pmio {
namespace {

using Files = std::map<std::string, std::string>;

constexpr uint64_t kMiB = 1 << 20;
const std::string kNode = "MemTotal:       24683656 kB\nMemFree:        1 kB\nMemAvailable:   20480000 kB\n";

std::string mib(uint64_t number) { return std::to_string(number * kMiB) + "\n"; }

std::vector<MemoryLimit> limits_in(const Files& files) {
  return memory_limits([&](const std::string& path) -> std::optional<std::string> {
    const auto at = files.find(path);
    return at == files.end() ? std::nullopt : std::optional(at->second);
  });
}

std::string v1_mount(const std::string& root, const std::string& point) {
  return "35 31 0:32 " + root + " " + point + " rw,relatime shared:9 - cgroup cgroup rw,memory\n";
}

std::string v2_mount(const std::string& root, const std::string& point) {
  return "41 31 0:38 " + root + " " + point + " rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
}

void add_v1(Files& files, const std::string& directory, const std::string& limit, uint64_t used,
            const std::string& stat = "") {
  files[directory + "/memory.limit_in_bytes"] = limit;
  files[directory + "/memory.usage_in_bytes"] = mib(used);
  files[directory + "/memory.stat"] = stat;
}

void add_v2(Files& files, const std::string& directory, const std::string& most, const std::string& high,
            uint64_t used, const std::string& stat = "") {
  files[directory + "/cgroup.controllers"] = "memory\n";
  files[directory + "/memory.max"] = most;
  files[directory + "/memory.high"] = high;
  files[directory + "/memory.current"] = mib(used);
  files[directory + "/memory.stat"] = stat;
}

const std::string kNoLimit1 = "9223372036854771712\n";

TEST(Cgroup, PathsOfBothVersions) {
  const CgroupPaths paths =
      cgroup_paths("9:name=systemd:/\n4:cpu,memory:/slurm/uid_0/job_7\n3:cpuset:/x\n0::/user.slice\n");
  EXPECT_EQ(paths.memory, "/slurm/uid_0/job_7");
  EXPECT_EQ(paths.unified, "/user.slice");
}

TEST(Cgroup, APathMayHoldColons) { EXPECT_EQ(cgroup_paths("0::/a:b:c\n").unified, "/a:b:c"); }

TEST(Cgroup, GarbageIsNoPathNoMountNoLimit) {
  for (const char* text :
       {"", "\n\n", ":", "0:", "0::", "4:memory:relative", "4:memory", "\0x", " - ", " - cgroup2",
        "1 2 3 4 5 - cgroup cgroup rw,memory", "- cgroup cgroup memory", "18446744073709551616", "-1", "12x",
        "max", "max\n", "9223372036854771712\n", "nonsense"}) {
    EXPECT_FALSE(cgroup_paths(text).memory) << text;
    EXPECT_FALSE(cgroup_paths(text).unified) << text;
    EXPECT_TRUE(cgroup_mounts(text).empty()) << text;
    EXPECT_FALSE(cgroup_limit(text)) << text;
    EXPECT_EQ(cgroup_reclaimable(text, true), 0u) << text;
  }
  EXPECT_EQ(cgroup_limit("4096\n"), 4096u);
  EXPECT_EQ(cgroup_limit("0"), 0u);
}

TEST(Cgroup, MountsThatCountMemoryAreTold) {
  const auto mounts = cgroup_mounts(
      "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
      "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n" +
      v1_mount("/docker/a\\040b", "/sys/fs/cgroup/memory") + v2_mount("/", "/sys/fs/cgroup/unified"));
  ASSERT_EQ(mounts.size(), 2u);
  EXPECT_FALSE(mounts[0].unified);
  EXPECT_EQ(mounts[0].root, "/docker/a b");
  EXPECT_EQ(mounts[0].point, "/sys/fs/cgroup/memory");
  EXPECT_TRUE(mounts[1].unified);
}

TEST(Cgroup, DirectoriesFromTheOwnGroupUpToTheMountPoint) {
  using List = std::vector<std::string>;
  EXPECT_EQ(cgroup_directories({true, "/", "/m"}, "/a/b"), (List{"/m/a/b", "/m/a", "/m"}));
  EXPECT_EQ(cgroup_directories({true, "/", "/m"}, "/"), List{"/m"});
  // A container without a namespace of its own: the mount shows its group alone.
  EXPECT_EQ(cgroup_directories({false, "/docker/x", "/m"}, "/docker/x"), List{"/m"});
  EXPECT_EQ(cgroup_directories({false, "/docker/x", "/m"}, "/docker/x/y"), (List{"/m/y", "/m"}));
  // Names of another namespace.
  EXPECT_EQ(cgroup_directories({false, "/docker/x", "/m"}, "/docker/xy"), List{"/m"});
  EXPECT_EQ(cgroup_directories({true, "/..", "/m"}, "/"), List{"/m"});
  EXPECT_EQ(cgroup_directories({true, "/", "/m"}, "/../other"), List{"/m"});
}

TEST(Cgroup, CleanPagesOfFilesCanBeTakenBack) {
  const std::string v1 =
      "active_file 1\ntotal_active_file 50\ntotal_inactive_file 100\ntotal_dirty 30\ntotal_writeback 20\n"
      "total_shmem 7\n";
  EXPECT_EQ(cgroup_reclaimable(v1, false), 100u);
  EXPECT_EQ(cgroup_reclaimable("active_file 50\ninactive_file 100\nfile_dirty 500\n", true), 0u);
}

TEST(MemoryLimits, WithoutGroupsTheNodeIsTheLimit) {
  const auto limits = limits_in({{"/proc/meminfo", kNode}});
  ASSERT_EQ(limits.size(), 1u);
  EXPECT_EQ(limits[0].limit_bytes, uint64_t{24683656} * 1024);
  EXPECT_EQ(limits[0].left_bytes, uint64_t{20480000} * 1024);
  EXPECT_TRUE(limits_in({}).empty());
  EXPECT_EQ(room_bytes(limits_in({}), Keep::all), UINT64_MAX);
}

TEST(MemoryLimits, OfVersion1AndEveryGroupAbove) {
  Files files{{"/proc/self/cgroup", "4:memory:/slurm/job_7/step_0\n0::/\n"},
              {"/proc/self/mountinfo", v1_mount("/", "/c")},
              {"/proc/meminfo", kNode}};
  add_v1(files, "/c/slurm/job_7/step_0", kNoLimit1, 10);
  add_v1(files, "/c/slurm/job_7", mib(300), 200, "total_inactive_file " + std::to_string(150 * kMiB) + "\n");
  add_v1(files, "/c/slurm", mib(1000), 900);
  add_v1(files, "/c", kNoLimit1, 5000);
  const auto limits = limits_in(files);
  ASSERT_EQ(limits.size(), 3u);
  EXPECT_EQ(limits[0].source, "the memory cgroup /c/slurm/job_7");
  EXPECT_EQ(limits[0].limit_bytes, 300 * kMiB);
  EXPECT_EQ(limits[0].left_bytes, 250 * kMiB);
  EXPECT_EQ(limits[1].left_bytes, 100 * kMiB);
  const MemoryLimit* tightest = nullptr;
  EXPECT_EQ(room_bytes(limits, Keep::all, &tightest), 0u);  // an eighth of 1000 MiB is kept free
  EXPECT_EQ(tightest, &limits[1]);
  EXPECT_EQ(room_bytes(limits, Keep::half), 100 * kMiB - 1000 * kMiB / 16);
}

TEST(MemoryLimits, OfGroupsThatCannotBeSeenTheOwnOneTells) {
  Files files{{"/proc/self/cgroup", "4:memory:/\n"}, {"/proc/self/mountinfo", v1_mount("/", "/c")}};
  add_v1(files, "/c", kNoLimit1, 100, "hierarchical_memory_limit " + std::to_string(512 * kMiB) + "\n");
  const auto limits = limits_in(files);
  ASSERT_EQ(limits.size(), 1u);
  EXPECT_EQ(limits[0].limit_bytes, 512 * kMiB);
  EXPECT_EQ(limits[0].left_bytes, 412 * kMiB);
}

TEST(MemoryLimits, IfNoGroupHasALimitThoseAboveAreNotRead) {
  Files files{{"/proc/self/cgroup", "4:memory:/slurm/job\n"}, {"/proc/self/mountinfo", v1_mount("/", "/c")}};
  add_v1(files, "/c/slurm/job", kNoLimit1, 100,
         "hierarchical_memory_limit 9223372036854771712\nhierarchical_memsw_limit 9223372036854771712\n");
  std::vector<std::string> asked;
  const auto limits = memory_limits([&](const std::string& path) -> std::optional<std::string> {
    asked.push_back(path);
    const auto found = files.find(path);
    return found == files.end() ? std::nullopt : std::optional(found->second);
  });
  EXPECT_TRUE(limits.empty());
  EXPECT_EQ(asked, (std::vector<std::string>{"/proc/self/cgroup", "/proc/self/mountinfo",
                                             "/c/slurm/job/memory.usage_in_bytes", "/c/slurm/job/memory.stat",
                                             "/proc/meminfo"}));
}

TEST(MemoryLimits, OfMemoryAndSwapTogether) {
  Files files{{"/proc/self/cgroup", "4:memory:/j\n"}, {"/proc/self/mountinfo", v1_mount("/", "/c")}};
  add_v1(files, "/c/j", mib(400), 100);
  files["/c/j/memory.memsw.limit_in_bytes"] = mib(400);
  files["/c/j/memory.memsw.usage_in_bytes"] = mib(390);
  const auto limits = limits_in(files);
  ASSERT_EQ(limits.size(), 2u);
  EXPECT_EQ(limits[1].left_bytes, 10 * kMiB);
}

TEST(MemoryLimits, OfVersion2TheLesserOfMaxAndHigh) {
  Files files{{"/proc/self/cgroup", "0::/system.slice/job\n"}, {"/proc/self/mountinfo", v2_mount("/", "/c")}};
  add_v2(files, "/c/system.slice/job", mib(300), mib(200), 150,
         "inactive_file " + std::to_string(50 * kMiB) + "\n");
  add_v2(files, "/c/system.slice", "max\n", "max\n", 1000);
  files["/c/cgroup.controllers"] = "memory\n";  // the root has no limits
  const auto limits = limits_in(files);
  ASSERT_EQ(limits.size(), 1u);
  EXPECT_EQ(limits[0].limit_bytes, 200 * kMiB);
  EXPECT_EQ(limits[0].left_bytes, 100 * kMiB);
}

TEST(MemoryLimits, OfBothVersionsAtOnce) {
  Files files{{"/proc/self/cgroup", "4:memory:/one\n0::/two\n"},
              {"/proc/self/mountinfo", v1_mount("/", "/1") + v2_mount("/", "/2")}};
  add_v1(files, "/1/one", mib(300), 100);
  files["/2/two/cgroup.controllers"] = "";  // where version 1 counts memory, version 2 does not
  EXPECT_EQ(limits_in(files).size(), 1u);
  add_v2(files, "/2/two", mib(200), "max\n", 100);
  EXPECT_EQ(limits_in(files).size(), 2u);
}

TEST(MemoryLimits, InAContainer) {
  // A namespace of its own: its group is the root of all that it sees.
  Files files{{"/proc/self/cgroup", "0::/\n"}, {"/proc/self/mountinfo", v2_mount("/", "/c")}};
  add_v2(files, "/c", mib(300), "max\n", 100);
  EXPECT_EQ(limits_in(files).size(), 1u);
  // None: its group is mounted, and named by the host's name.
  files["/proc/self/cgroup"] = "0::/docker/x\n";
  files["/proc/self/mountinfo"] = v2_mount("/docker/x", "/c");
  EXPECT_EQ(limits_in(files).size(), 1u);
  // The host's name, and no word of where that is mounted.
  files["/proc/self/mountinfo"] = v2_mount("/", "/c");
  ASSERT_EQ(limits_in(files).size(), 1u);
  EXPECT_EQ(limits_in(files)[0].source, "the memory cgroup /c");
}

TEST(MemoryLimits, AHierarchyThatIsMountedTwiceCountsOnce) {
  Files files{{"/proc/self/cgroup", "0::/j\n"},
              {"/proc/self/mountinfo", v2_mount("/", "/c") + v2_mount("/", "/d")}};
  add_v2(files, "/c/j", mib(300), "max\n", 100);
  add_v2(files, "/d/j", mib(300), "max\n", 100);
  EXPECT_EQ(limits_in(files).size(), 1u);
}

TEST(MemoryLimits, TheMountThatShowsTheGroupCounts) {
  Files files{{"/proc/self/cgroup", "4:memory:/\n"},
              {"/proc/self/mountinfo", v1_mount("/../..", "/host") + v1_mount("/", "/c")}};
  add_v1(files, "/host", kNoLimit1, 1000);
  add_v1(files, "/c", mib(300), 100);
  ASSERT_EQ(limits_in(files).size(), 1u);
  EXPECT_EQ(limits_in(files)[0].left_bytes, 200 * kMiB);
}

TEST(MemoryLimits, MoreThanTheLimitLeavesNothing) {
  Files files{{"/proc/self/cgroup", "0::/\n"}, {"/proc/self/mountinfo", v2_mount("/", "/c")}};
  add_v2(files, "/c", mib(300), "max\n", 400);
  EXPECT_EQ(limits_in(files)[0].left_bytes, 0u);
  EXPECT_EQ(room_bytes(limits_in(files), Keep::half), 0u);
}

TEST(MemoryLimits, AnEighthIsKeptFreeAnd8GiBAtMost) {
  EXPECT_EQ(kept_free({MemoryLimit::Of::memory, "", 800 * kMiB, 0}), 100 * kMiB);
  EXPECT_EQ(kept_free({MemoryLimit::Of::memory, "", uint64_t{1} << 40, 0}), uint64_t{8} << 30);
}

TEST(MemoryLimits, OfThisMachine) {
  EXPECT_FALSE(memory_limits().empty());  // /proc/meminfo at least
  EXPECT_FALSE(file_system_limit("/there/is/no/such/directory"));
}

}  // namespace
}  // namespace pmio
