// The three kinds of Region behind Medium. Internal to src/medium.
#pragma once

#include <memory>

#include "medium/medium.h"

namespace pmio {

// A shared mapping of ordinary, cached memory; the destructor unmaps it. The descriptor may be closed when
// the region exists.
class MappedRegion : public Region {
 public:
  ~MappedRegion() override;
  Status map(int fd, size_t size_bytes, bool read_only);
  // These use ordinary stores.
  void copy(size_t offset_bytes, const void* source, size_t length_bytes) override;
  uint32_t copy_checksummed(size_t offset_bytes, const void* source, size_t length_bytes,
                            uint32_t seed) override;
};

Result<std::unique_ptr<Region>> map_tmpfs(int fd, size_t size_bytes, bool read_only);
Result<std::unique_ptr<Region>> map_disk(int fd, size_t size_bytes, bool read_only, Durability durability);
Result<std::unique_ptr<Region>> map_dax(int fd, size_t size_bytes, bool read_only);

}  // namespace pmio
