// Memory file systems: a store lives as long as the node does, so there is nothing to flush and nothing to
// wait for.
#include "medium/regions.h"

namespace pmio {

namespace {

class TmpfsRegion final : public MappedRegion {
 public:
  TmpfsRegion() { plain_ = true; }
  void flush(size_t, size_t) override {}
  Status fence() override { return Status(); }
  Status sync() override { return Status(); }
};

}  // namespace

Result<std::unique_ptr<Region>> map_tmpfs(int fd, size_t size_bytes, bool read_only) {
  auto region = std::make_unique<TmpfsRegion>();
  PMIO_TRY(region->map(fd, size_bytes, read_only));
  return std::unique_ptr<Region>(std::move(region));
}

}  // namespace pmio
