// Whatever a file system says of a file, it is a layout or none, and a layout can be walked. The first byte:
// which file system says it; the second: how many bytes its first attribute has, the rest is the second one,
// and what an ioctl answers. The last kind is a packed layout.
#include <cstdlib>

#include "../unit/layout/fake.h"
#include "layout/provider.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void walk(const pmio::Layout& layout) {
  require(layout.valid() && layout.smallest_stripe_bytes() > 0);
  uint64_t offset = 0;
  for (int i = 0; i < 200 && offset != UINT64_MAX; i++) {
    const uint64_t boundary = layout.next_boundary(offset);
    require(boundary > offset && layout.server_of(offset) < layout.servers);
    require(layout.server_of(boundary - 1) == layout.server_of(offset));
    // The middle of the rest too: large files are what components are for.
    offset = i % 20 == 19 ? boundary + (UINT64_MAX - boundary) / 2 : boundary;
  }
  const auto words = pmio::pack(layout);
  const auto again = pmio::unpack(words);
  require(again && pmio::pack(*again) == words);
}

void unpack_any(const std::string& bytes) {
  std::vector<uint64_t> words(bytes.size() / 8 + 1);
  std::memcpy(words.data(), bytes.data(), bytes.size() / 8 * 8);
  words.pop_back();
  if (const auto layout = pmio::unpack(words)) walk(*layout);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  if (size < 2) return 0;
  static const char* const kFileSystems[] = {"lustre",   "ceph",           "beegfs",
                                             "orangefs", "fuse.glusterfs", "packed"};
  const std::string file_system = kFileSystems[input[0] % std::size(kFileSystems)];
  const std::string all(reinterpret_cast<const char*>(input) + 2, size - 2);
  if (file_system == "packed") {
    unpack_any(all);
    return 0;
  }
  const size_t first = std::min<size_t>(input[1], all.size());
  std::string reply = all.substr(0, 12);
  reply.resize(12);  // of BeeGFS's only ioctl
  const pmio::FakeStorage file(file_system,
                               {{"lustre.lov", all},
                                {"ceph.file.layout", all},
                                {"glusterfs.pathinfo", all},
                                {"system.pvfs2.md", all.substr(0, first)},
                                {"system.pvfs2.dh", all.substr(first)}},
                               reply);
  walk(pmio::find_layout(file, {}).layout);
  return 0;
}
