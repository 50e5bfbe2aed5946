// BeeGFS, by the ioctls of its client module. Chunks go round-robin over the file's targets; of mirrored
// files, over its pairs of targets.
// Source: BeeGFS, beegfs_client_devel/include/beegfs/beegfs_ioctl.h (type 'f', numbers 25 and 27).
#include <sys/ioctl.h>

#include <bit>

#include "layout/providers.h"

namespace pmio {
namespace {

struct StripeInfo {
  unsigned pattern;
  unsigned chunk_bytes;
  uint16_t targets;
};
static_assert(sizeof(StripeInfo) == 12);

struct NewFile {
  const char* name;
  unsigned mode;  // the module takes the umask off it
  unsigned targets;
  unsigned chunk_bytes;  // both 0: as in the directory
};
static_assert(sizeof(NewFile) == 24);

constexpr unsigned long kGetStripeInfo = _IOR('f', 25, StripeInfo);
constexpr unsigned long kMakeFile = _IOW('f', 27, NewFile);
constexpr uint64_t kSmallestChunk = 64 << 10;
constexpr uint64_t kLargestChunk = 1u << 31;

class BeeProvider final : public LayoutProvider {
 public:
  const char* name() const override { return "beegfs"; }

  std::optional<Layout> find(const Storage& file, const LayoutHints& /*hints*/) const override {
    StripeInfo info{};
    if (file.file_system() != "beegfs" || !file.control(kGetStripeInfo, &info)) return {};
    if (info.pattern == 0 || info.chunk_bytes == 0) return {};
    return Layout{info.chunk_bytes, info.targets, {}};
  }

  bool create(Storage& directory, const char* name, const LayoutHints& hints) const override {
    if (directory.file_system() != "beegfs") return false;
    NewFile file{name, 0666, hints.striping_factor, 0};
    const uint64_t unit = hints.striping_unit;
    if (std::has_single_bit(unit) && unit >= kSmallestChunk && unit <= kLargestChunk)
      file.chunk_bytes = static_cast<unsigned>(unit);
    return directory.control(kMakeFile, &file);
  }
};

}  // namespace

const LayoutProvider& beegfs_layouts() {
  static const BeeProvider provider;
  return provider;
}

}  // namespace pmio
