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

void MappedRegion::copy(size_t offset_bytes, const void* source, size_t length_bytes) {
  std::memcpy(data_ + offset_bytes, source, length_bytes);
}

uint32_t MappedRegion::copy_checksummed(size_t offset_bytes, const void* source, size_t length_bytes,
                                        uint32_t seed) {
  return copy_with_checksum(data_ + offset_bytes, source, length_bytes, seed);
}

}  // namespace pmio
