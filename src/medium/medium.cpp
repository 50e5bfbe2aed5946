#include "medium/medium.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>

#include "base/checksum.h"
#include "medium/directory.h"
#include "medium/regions.h"

#ifndef MADV_POPULATE_WRITE  // Linux 5.14
#define MADV_POPULATE_WRITE 23
#endif

namespace pmio {

namespace {

// Pages of a tmpfs are memory, and its size limit may be larger than the memory that is left: reserving
// beyond that does not fail, it makes the kernel kill processes. No answer: no limit known.
Status check_memory(size_t size_bytes, const std::string& directory) {
  std::ifstream facts("/proc/meminfo");
  std::string line;
  while (std::getline(facts, line)) {
    unsigned long long available_kib = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %llu kB", &available_kib) != 1) continue;
    if (size_bytes / 1024 < available_kib) break;
    return Status(Code::no_space, "reserving " + std::to_string(size_bytes) + " bytes in " + directory +
                                      ": only " + std::to_string(available_kib) +
                                      " KiB of memory are left on this node; lower pmio_log_size");
  }
  return Status();
}

class FileMedium final : public Medium {
 public:
  FileMedium(Directory directory, MediumKind kind, Durability durability)
      : directory_(std::move(directory)), kind_(kind), durability_(durability) {}

  MediumKind kind() const override { return kind_; }
  Durability durability() const override { return durability_; }
  const std::string& directory() const override { return directory_.path(); }

  Result<std::unique_ptr<Region>> create(std::string_view name, size_t size_bytes, bool lasting) override {
    if (size_bytes == 0) return Status(Code::invalid, "a region of no bytes");
    if (kind_ == MediumKind::tmpfs) PMIO_TRY(check_memory(size_bytes, directory()));
    auto file = directory_.create_file(name, size_bytes);
    if (!file.ok()) return file.status();
    auto region = map(file->get(), size_bytes, false);
    Status named = region.ok() && lasting ? make_name_durable(file->get()) : region.status();
    if (named.ok()) return region;
    static_cast<void>(directory_.remove_file(name));  // the first error is the one to tell
    return named;
  }

  Result<std::unique_ptr<Region>> open(std::string_view name, bool read_only) override {
    auto file = directory_.open_file(name, read_only);
    if (!file.ok()) return file.status();
    return map(file->fd.get(), file->size_bytes, read_only);
  }

  Status remove(std::string_view name) override { return directory_.remove_file(name); }
  Result<std::vector<std::string>> list() const override { return directory_.list(); }

 private:
  Result<std::unique_ptr<Region>> map(int fd, size_t size_bytes, bool read_only) {
    switch (kind_) {
      case MediumKind::tmpfs:
        return map_tmpfs(fd, size_bytes, read_only);
      case MediumKind::dax:
        return map_dax(fd, size_bytes, read_only);
      case MediumKind::disk:
        break;
    }
    return map_disk(fd, size_bytes, read_only, durability_);
  }

  // After a power failure a durable record is of no use in a file that has lost its name or its blocks.
  Status make_name_durable(int fd) {
    if (kind_ == MediumKind::tmpfs || durability_ == Durability::none) return Status();
    if (fsync(fd) != 0) return Status::from_errno(errno, "fsync in " + directory());
    return directory_.sync();
  }

  Directory directory_;
  MediumKind kind_;
  Durability durability_;
};

}  // namespace

uint32_t Region::copy_checksummed(size_t offset_bytes, const void* source, size_t length_bytes,
                                  uint32_t seed) {
  constexpr size_t kBlock = 4 << 10;  // the second pass finds the block in the first-level cache
  const auto* from = static_cast<const std::byte*>(source);
  for (size_t done = 0; done < length_bytes;) {
    const size_t step = std::min(kBlock, length_bytes - done);
    seed = crc32c(seed, from + done, step);
    copy(offset_bytes + done, from + done, step);
    done += step;
  }
  return seed;
}

Result<std::unique_ptr<Medium>> open_medium(const std::string& directory, Durability durability) {
  auto opened = Directory::open(directory);
  if (!opened.ok()) return opened.status();
  const auto facts = probe_medium(opened->path());
  if (!facts.ok()) return facts.status();
  return std::unique_ptr<Medium>(
      std::make_unique<FileMedium>(std::move(*opened), facts.value().kind, durability));
}

void Medium::prefault(Region& region, size_t offset_bytes, size_t length_bytes) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t begin = offset_bytes / page * page;
  const size_t end = std::min(offset_bytes + length_bytes, region.size_bytes());
  if (begin >= end) return;
  if (madvise(region.data() + begin, end - begin, MADV_POPULATE_WRITE) == 0 || errno != EINVAL) return;
  // An older kernel. Another thread, or process, may be storing to the page: exchanging a byte for itself
  // takes the write fault and can lose nobody's store. (A fetch_or of 0 would do as well, but compilers turn
  // it into a load.)
  for (size_t at = begin; at < end; at += page) {
    auto* byte = reinterpret_cast<volatile unsigned char*>(region.data() + at);
    unsigned char value = *byte;
    __atomic_compare_exchange_n(byte, &value, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
}

}  // namespace pmio
