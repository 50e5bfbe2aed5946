// What each provider makes of the attributes that its file system shows, and asks for in a new file.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file_system.h"
#include "fake.h"
#include "layout/lustre_attribute.h"
#include "layout/provider.h"

namespace pmio {
namespace {

constexpr uint64_t kMiB = 1 << 20;
const LayoutHints kHints{256 << 10, 7};

FoundLayout find(const FakeStorage& file) { return find_layout(file, kHints); }

template <class Number>
std::string little_endian(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

void expect_layout(const FoundLayout& found, const char* provider, uint64_t stripe_bytes, uint32_t servers) {
  EXPECT_STREQ(found.provider, provider);
  EXPECT_EQ(found.layout.stripe_bytes, stripe_bytes);
  EXPECT_EQ(found.layout.servers, servers);
}

TEST(LayoutProviders, AnotherFileSystemIsAskedNothing) {
  Doings doings;
  for (const char* name : {"ext4", "tmpfs", "nfs", "fuse.sshfs", "0x1234", ""})
    expect_layout(find(FakeStorage(name, {}, {}, &doings)), "hints", kHints.striping_unit,
                  kHints.striping_factor);
  EXPECT_TRUE(doings.asked.empty());
  EXPECT_TRUE(doings.controls.empty());
}

TEST(LayoutProviders, ThatDoNotKnowLeaveItToTheHints) {
  for (const char* name : {"lustre", "ceph", "beegfs", "orangefs", "fuse.glusterfs"})
    EXPECT_STREQ(find(FakeStorage(name, {})).provider, "hints") << name;
}

TEST(LayoutProviders, CephFs) {
  const auto ceph = [](const char* text) { return find(FakeStorage("ceph", {{"ceph.file.layout", text}})); };
  expect_layout(ceph("stripe_unit=1048576 stripe_count=4 object_size=4194304 pool=cephfs_data"), "ceph", kMiB,
                4);
  expect_layout(ceph("stripe_unit=65536 stripe_count=1 object_size=4194304 pool=a"), "ceph", 4 * kMiB, 1);
  expect_layout(ceph("stripe_unit=65536 stripe_count=2 object_size=4194304 pool=stripe_count=9"), "ceph",
                65536, 2);
  for (const char* text : {"stripe_unit=x stripe_count=4", "stripe_unit=65536", "stripe_unit=",
                           "pool=stripe_unit=1", "stripe_unit=65536 stripe_count=99999999999 object_size=1"})
    EXPECT_STREQ(ceph(text).provider, "hints") << text;
  const FakeStorage in_user_space(
      "fuse.ceph-fuse", {{"ceph.file.layout", "stripe_unit=65536 stripe_count=3 object_size=65536 pool=p"}});
  expect_layout(find(in_user_space), "ceph", 65536, 3);
}

TEST(LayoutProviders, BeeGfs) {
  const auto bee = [](uint32_t pattern, uint32_t chunk, uint16_t targets) {
    return find(
        FakeStorage("beegfs", {}, little_endian(pattern) + little_endian(chunk) + little_endian(targets)));
  };
  expect_layout(bee(1, 512 << 10, 4), "beegfs", 512 << 10, 4);
  expect_layout(bee(3, 1 << 20, 2), "beegfs", kMiB, 2);
  Doings doings;
  (void)find(FakeStorage("beegfs", {}, std::string(10, 'r'), &doings));
  ASSERT_EQ(doings.controls.size(), 1u);
  EXPECT_EQ(doings.controls[0].first, 0x800c6619u) << "_IOR('f', 25, 12 bytes)";
  EXPECT_STREQ(bee(0, 1 << 20, 2).provider, "hints");
  EXPECT_STREQ(bee(1, 0, 2).provider, "hints");
  EXPECT_STREQ(bee(1, 1 << 20, 0).provider, "hints");
}

// Both in the encoding of OrangeFS: length, name, padding, parameters.
std::string distribution(const std::string& name, const std::string& parameters) {
  std::string text = little_endian(static_cast<uint32_t>(name.size())) + name + '\0';
  text.resize((text.size() + 7) / 8 * 8);
  return text + parameters;
}

TEST(LayoutProviders, OrangeFs) {
  const auto orange = [](const std::string& text, size_t files) {
    return find(FakeStorage("orangefs",
                            {{"system.pvfs2.md", text}, {"system.pvfs2.dh", std::string(8 * files, 'h')}}));
  };
  const std::string simple = distribution("simple_stripe", little_endian(uint64_t{65536}));
  ASSERT_EQ(simple.size(), 32u);
  expect_layout(orange(simple, 3), "orangefs", 65536, 3);
  expect_layout(orange(distribution("basic_dist", ""), 1), "orangefs", 0, 1);
  EXPECT_STREQ(orange(simple, 0).provider, "hints");
  EXPECT_STREQ(orange(distribution("varstrip_dist", std::string(16, 'x')), 3).provider, "hints");
  EXPECT_STREQ(orange(std::string(32, '\xff'), 3).provider, "hints");
  for (size_t length = 0; length < simple.size(); length++)
    EXPECT_STREQ(orange(simple.substr(0, length), 3).provider, "hints") << length;
}

TEST(LayoutProviders, MooseFs) { expect_layout(find(FakeStorage("fuse.mfs", {})), "moosefs", 64 * kMiB, 1); }

TEST(LayoutProviders, GlusterFs) {
  const auto gluster = [](const char* text) {
    return find(FakeStorage("fuse.glusterfs", {{"glusterfs.pathinfo", text}}));
  };
  expect_layout(gluster("(<DISTRIBUTE:v-dht> <POSIX(/mnt/b):vm1:/mnt/b/dir/file3>)"), "glusterfs", 0, 1);
  expect_layout(
      gluster("(<DISTRIBUTE:v-dht> (<REPLICATE:v-replicate-1> <POSIX(/b):a:/b/f> <POSIX(/b):b:/b/f>))"),
      "glusterfs", 0, 1);
  expect_layout(
      gluster(
          "(<DISTRIBUTE:v-dht> (<STRIPE:v-stripe-0:[131072]> <POSIX(/b1):h1:/b1/f> <POSIX(/b2):h2:/b2/f>))"),
      "glusterfs", 131072, 2);
  expect_layout(
      gluster("(<STRIPE:v:[131072]> (<REPLICATE:r0> <POSIX(/a):h:/a> <POSIX(/b):h:/b>) (<REPLICATE:r1> "
              "<POSIX(/c):h:/c> <POSIX(/d):h:/d>) <POSIX(/e):h:/e)>)"),
      "glusterfs", 131072, 3);
  for (const char* text : {"(<STRIPE:v:[x]> <POSIX(/b1)>)", "(<STRIPE:v:[131072", "(<STRIPE:v:[131072]>",
                           "(<STRIPE:>)", "(<STRIPE:v:[0]> <POSIX(/b1)>)", "(<STRIPE:v:[131072]>)", ""})
    EXPECT_STREQ(gluster(text).provider, "hints") << text;
  const FakeStorage for_root("fuse.glusterfs", {{"trusted.glusterfs.pathinfo", "(<POSIX(/b):h:/f>)"}});
  EXPECT_STREQ(find(for_root).provider, "glusterfs");
}

TEST(LayoutProviders, WithoutAHintNothingIsCreated) {
  for (const char* name : {"lustre", "ceph", "beegfs"}) {
    Doings doings;
    FakeStorage directory(name, {}, {}, &doings);
    EXPECT_FALSE(create_with_layout(directory, "f", {}));
    EXPECT_TRUE(doings.created.empty());
  }
}

TEST(LayoutProviders, WhereOneCannotChooseNothingIsCreated) {
  for (const char* name : {"ext4", "orangefs", "fuse.mfs", "fuse.glusterfs", "fuse"}) {
    Doings doings;
    FakeStorage directory(name, {}, {}, &doings);
    EXPECT_FALSE(create_with_layout(directory, "f", kHints)) << name;
    EXPECT_TRUE(doings.created.empty());
  }
}

TEST(LayoutProviders, ANameThatIsTaken) {
  for (const char* name : {"lustre", "ceph", "beegfs"}) {
    FakeStorage directory(name, {});
    EXPECT_FALSE(create_with_layout(directory, "f", kHints)) << name;
  }
}

TEST(LayoutProviders, APathOnAnotherFileSystemIsLeftAlone) {
  EXPECT_FALSE(create_with_layout("/dev/shm/pmio-no-such-file", kHints));
  EXPECT_FALSE(create_with_layout("/no-such-directory/f", kHints));
  EXPECT_FALSE(create_with_layout("f", kHints));
  EXPECT_NE(access("/dev/shm/pmio-no-such-file", F_OK), 0);
}

TEST(LayoutProviders, CreatingOnLustre) {
  Doings doings;
  FakeStorage directory("lustre", {}, {}, &doings);
  EXPECT_TRUE(create_with_layout(directory, "f", {kMiB, 4}));
  ASSERT_EQ(doings.created.size(), 1u);
  EXPECT_EQ(doings.created[0], (std::pair<std::string, int>("f", O_NOCTTY | FASYNC)));
  ASSERT_EQ(doings.changed.size(), 1u);
  EXPECT_EQ(doings.changed[0].first, "lustre.lov");
  EXPECT_EQ(doings.changed[0].second, lustre_attribute(1 << 20, 4));
  EXPECT_TRUE(create_with_layout(directory, "g", {1000, 4}));
  EXPECT_EQ(doings.changed[1].second, lustre_attribute(0, 4)) << "no such stripes";
}

TEST(LayoutProviders, CreatingOnBeeGfs) {
  Doings doings;
  FakeStorage directory("beegfs", {}, {}, &doings);
  EXPECT_TRUE(create_with_layout(directory, "f", {kMiB, 4}));
  ASSERT_EQ(doings.controls.size(), 1u);
  EXPECT_EQ(doings.controls[0].first, 0x4018661bu) << "_IOW('f', 27, 24 bytes)";
  EXPECT_EQ(doings.controls[0].second.substr(8, 12),
            little_endian(0666u) + little_endian(4u) + little_endian(1u << 20));
}

using Changes = std::vector<std::pair<std::string, std::string>>;

Changes changes_on_ceph(const LayoutHints& hints) {
  Doings doings;
  FakeStorage directory(
      "ceph", {{"ceph.file.layout", "stripe_unit=4194304 stripe_count=1 object_size=4194304"}}, {}, &doings);
  EXPECT_TRUE(create_with_layout(directory, "f", hints));
  return doings.changed;
}

TEST(LayoutProviders, CreatingOnCephFs) {
  EXPECT_EQ(changes_on_ceph({kMiB, 4}),
            (Changes{{"ceph.file.layout.stripe_unit", "1048576"}, {"ceph.file.layout.stripe_count", "4"}}));
  EXPECT_EQ(changes_on_ceph({0, 4}), (Changes{{"ceph.file.layout.stripe_count", "4"}}));
  // Units must be whole in an object at every step.
  EXPECT_EQ(changes_on_ceph({8 * kMiB, 0}), (Changes{{"ceph.file.layout.stripe_unit", "65536"},
                                                     {"ceph.file.layout.object_size", "8388608"},
                                                     {"ceph.file.layout.stripe_unit", "8388608"}}));
  EXPECT_EQ(changes_on_ceph({1000, 0}), Changes{}) << "no such units";
  EXPECT_EQ(changes_on_ceph({256 * kMiB, 0}), Changes{}) << "OSDs would refuse the object";
}

TEST(FileSystem, MountedType) {
  const char mounts[] =
      "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
      "30 22 0:45 / /mnt/g rw shared:20 master:2 - fuse.glusterfs server:/vol rw,user_id=0\n"
      "31 22 0:450 / /mnt/x rw - fuse.mfs mfs:9421 rw\n"
      "33 22 0:47 / /mnt/m rw - fuse mfs\\043m1:9421 rw,user_id=0\n"
      "34 22 0:48 / /mnt/f rw - fuse /dev/x rw\n"
      "32 22 0:46 / /mnt/y rw";
  EXPECT_EQ(mounted_type(mounts, makedev(0, 45)), "fuse.glusterfs");
  EXPECT_EQ(mounted_type(mounts, makedev(254, 1)), "ext4");
  EXPECT_EQ(mounted_type(mounts, makedev(0, 450)), "fuse.mfs");
  EXPECT_EQ(mounted_type(mounts, makedev(0, 47)), "fuse.mfs");
  EXPECT_EQ(mounted_type(mounts, makedev(0, 48)), "fuse");
  EXPECT_EQ(mounted_type(mounts, makedev(0, 46)), "");
  EXPECT_EQ(mounted_type(mounts, makedev(9, 9)), "");
  EXPECT_EQ(mounted_type("", makedev(0, 45)), "");
}

TEST(FileSystem, ShowsWhatOtherNodesWrote) {
  for (const char* shows : {"fuse.mfs", "fuse.ceph-fuse", "ceph"})
    EXPECT_TRUE(shows_other_nodes(shows)) << shows;
  for (const char* other : {"", "ext4", "tmpfs", "nfs", "fuse", "lustre", "gpfs"})
    EXPECT_FALSE(shows_other_nodes(other)) << other;
  for (const char* untried : {"lustre", "gpfs"}) EXPECT_TRUE(is_untried(untried)) << untried;
  for (const char* other : {"", "ext4", "nfs", "fuse.mfs"}) EXPECT_FALSE(is_untried(other)) << other;
}

TEST(FileSystem, MountOptions) {
  const char mounts[] =
      "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro\n"
      "220 22 0:51 / /lfs/a rw,noatime shared:20 master:2 - lustre 10.0.0.1@tcp:/a rw,flock,lazystatfs\n"
      "221 22 0:52 / /lfs/b rw - lustre 10.0.0.1@tcp:/b rw,localflock\n"
      "222 22 0:53 / /lfs/c rw - lustre 10.0.0.1@tcp:/c rw,lazystatfs\n"
      "223 22 0:54 / /lfs/d rw,flock - lustre 10.0.0.1@tcp:/d rw\n"
      "224 22 0:55 / /cut rw - lustre";
  const auto locks = [&](int number) { return locks_hold_on_all_nodes(find_mount(mounts, number).value()); };
  EXPECT_EQ(find_mount(mounts, 220)->type, "lustre");
  EXPECT_EQ(find_mount(mounts, 220)->point, "/lfs/a");
  EXPECT_EQ(find_mount(mounts, 220)->source, "10.0.0.1@tcp:/a");
  EXPECT_EQ(find_mount(mounts, 220)->options, "rw,noatime,rw,flock,lazystatfs");
  EXPECT_TRUE(locks(22).ok());
  EXPECT_TRUE(locks(220).ok());
  EXPECT_TRUE(locks(223).ok());
  EXPECT_EQ(locks(221).code(), Code::unsupported);
  EXPECT_NE(locks(221).message().find("localflock"), std::string::npos);
  EXPECT_NE(locks(221).message().find("10.0.0.1@tcp:/b"), std::string::npos);
  EXPECT_EQ(locks(222).code(), Code::unsupported);
  for (const int none : {2, 224, -1}) EXPECT_FALSE(find_mount(mounts, none)) << none;
  EXPECT_FALSE(find_mount("", 22));
}

TEST(FileSystem, MountOfAnOpenFile) {
  const int fd = open("/dev/shm", O_PATH | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(mount_of(fd).value().type, "tmpfs");
  close(fd);
  EXPECT_FALSE(mount_of(-1));
}

TEST(FileSystem, OfAnOpenFile) {
  const int fd = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(file_system_of(fd), "tmpfs");
  EXPECT_EQ(storage_of(fd)->file_system(), "tmpfs");
  EXPECT_EQ(storage_of(fd)->attribute("lustre.lov"), "");
  close(fd);
  EXPECT_EQ(file_system_of(-1), "");
}

}  // namespace
}  // namespace pmio
