// Memory file systems: a store lives as long as the node does, so there is nothing to flush and nothing to
// wait for.
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "medium/regions.h"
#include "medium/streaming_copy.h"

namespace pmio {

MappedRegion::~MappedRegion() {
  if (data_ != nullptr) munmap(data_, size_);
}

Status MappedRegion::map(int fd, size_t size_bytes, bool read_only) {
  const int protection = read_only ? PROT_READ : PROT_READ | PROT_WRITE;
  void* address = mmap(nullptr, size_bytes, protection, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED)
    return Status::from_errno(errno, "mapping " + std::to_string(size_bytes) + " bytes");
  data_ = static_cast<std::byte*>(address);
  size_ = size_bytes;
  return Status();
}

namespace {

class TmpfsRegion final : public MappedRegion {
 public:
  void copy(size_t offset_bytes, const void* source, size_t length_bytes) override {
    std::memcpy(data_ + offset_bytes, source, length_bytes);
  }
  uint32_t copy_checksummed(size_t offset_bytes, const void* source, size_t length_bytes,
                            uint32_t seed) override {
    return copy_with_checksum(data_ + offset_bytes, source, length_bytes, seed);
  }
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
