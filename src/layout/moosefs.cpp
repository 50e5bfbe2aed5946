// MooseFS, and its forks that mount as it does: chunks of 64 MiB (mfsmount names its file system "mfs", so it
// is listed as fuse.mfs). The master puts each chunk on a server of its choice and doesn't tell a client
// which by anything but its own protocol; so there is one server, and boundaries.
#include "layout/providers.h"

namespace pmio {
namespace {

constexpr uint64_t kChunkBytes = 64 << 20;

class MooseProvider final : public LayoutProvider {
 public:
  const char* name() const override { return "moosefs"; }
  std::optional<Layout> find(const Storage& file, const LayoutHints& /*hints*/) const override {
    if (file.file_system() != "fuse.mfs") return {};
    return Layout{kChunkBytes, 1, {}};
  }
};

}  // namespace

const LayoutProvider& moosefs_layouts() {
  static const MooseProvider provider;
  return provider;
}

}  // namespace pmio
