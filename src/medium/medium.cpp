#include "medium/medium.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "medium/directory.h"
#include "medium/populate.h"
#include "medium/regions.h"

namespace pmio {

namespace {

// Pages of a tmpfs are memory, and the limit of its size may be larger than the memory that is left. To
// reserve more than is left does not fail: it makes the kernel kill processes. One look at the limits serves
// the small regions of some time.
class Room {
 public:
  Status take(size_t size_bytes, const Medium& medium) {
    const LockGuard lock(mutex_);
    if (monotonic_ns() >= until_ns_ || size_bytes > allowed_bytes_) {
      const std::vector<MemoryLimit> limits = limits_of(medium.kind(), medium.directory());
      const MemoryLimit* tightest = nullptr;
      const uint64_t room = room_bytes(limits, Keep::half, &tightest);
      if (size_bytes > room) return lack_of(*tightest, medium.directory());
      allow_locked(room - size_bytes);
      return {};
    }
    allowed_bytes_ -= size_bytes;
    return {};
  }

  // Somebody has looked.
  void seen(std::span<const MemoryLimit> limits) {
    const LockGuard lock(mutex_);
    allow_locked(room_bytes(limits, Keep::half));
  }

 private:
  static constexpr uint64_t kMostAllowed = 16 << 20;
  void allow_locked(uint64_t room) PMIO_REQUIRES(mutex_) {
    allowed_bytes_ = std::min(room / 256, kMostAllowed);
    until_ns_ = monotonic_ns() + kSecondNs;
  }
  static Status lack_of(const MemoryLimit& limit, const std::string& directory) {
    return {Code::no_space, "too little is left of " + limit.source + " (" +
                                std::to_string(limit.limit_bytes >> 20) + " MiB) for more of the log in " +
                                directory + ": give the job more, or name a disk of this node in PMIO_DIR"};
  }
  Mutex mutex_;
  uint64_t allowed_bytes_ PMIO_GUARDED_BY(mutex_) = 0;
  uint64_t until_ns_ PMIO_GUARDED_BY(mutex_) = 0;
};

class FileMedium final : public Medium {
 public:
  FileMedium(Directory directory, const MediumFacts& facts, Durability durability)
      : directory_(std::move(directory)),
        kind_(facts.kind),
        durability_(durability),
        huge_page_bytes_(facts.huge != HugePages::none || kind_ == MediumKind::dax ? kHugePageBytes : 0) {
    directory_.set_huge_pages(facts.huge);
  }

  MediumKind kind() const override { return kind_; }
  Durability durability() const override { return durability_; }
  const std::string& directory() const override { return directory_.path(); }

  Result<std::unique_ptr<Region>> create(std::string_view name, size_t size_bytes, bool lasting) override {
    if (size_bytes == 0) return Status(Code::invalid, "a region of no bytes");
    PMIO_TRY(room_->take(taken(size_bytes), *this));
    auto file = directory_.create_file(name, size_bytes);
    if (!file.ok()) return file.status();
    auto region = map(file->get(), size_bytes, false);
    Status named = region.ok() && lasting ? make_name_durable(file->get()) : region.status();
    if (named.ok()) return region;
    static_cast<void>(directory_.remove_file(name));  // the first error is told
    return named;
  }

  Result<std::unique_ptr<Region>> open(std::string_view name, bool read_only) override {
    auto file = directory_.open_file(name, read_only);
    if (!file.ok()) return file.status();
    return map(file->fd.get(), file->size_bytes, read_only);
  }

  Status remove(std::string_view name) override { return directory_.remove_file(name); }
  Status rename(std::string_view from, std::string_view to) override {
    return directory_.rename_file(from, to);
  }
  bool has(std::string_view name) const override {
    return faccessat(directory_.fd(), std::string(name).c_str(), F_OK, 0) == 0;
  }
  Result<std::vector<std::string>> list() const override { return directory_.list(); }

  Status vacate(std::string_view name) override {
    if (kind_ != MediumKind::tmpfs) return Medium::vacate(name);
    return directory_.vacate_file(name);
  }
  Status reserve(std::string_view name) override {
    auto file = directory_.open_file(name, false);
    if (!file.ok()) return file.status();
    PMIO_TRY(room_->take(taken(file->size_bytes), *this));
    return directory_.reserve_file(file->fd, name, file->size_bytes);
  }
  size_t huge_page_bytes() const override { return huge_page_bytes_; }
  std::vector<MemoryLimit> limits() const override {
    std::vector<MemoryLimit> limits = limits_of(kind_, directory());
    room_->seen(limits);
    return limits;
  }

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

  // After a power failure a durable record is of no use if its file has lost its name or its blocks.
  Status make_name_durable(int fd) {
    if (!outlives_power(kind_, durability_)) return Status();
    if (fsync(fd) != 0) return Status::from_errno(errno, "fsync in " + directory());
    return directory_.sync();
  }

  // What a region takes: the last of its huge pages is whole.
  size_t taken(size_t size_bytes) const {
    if (huge_page_bytes_ == 0 || size_bytes < huge_page_bytes_) return size_bytes;
    return (size_bytes + huge_page_bytes_ - 1) / huge_page_bytes_ * huge_page_bytes_;
  }

  Directory directory_;
  MediumKind kind_;
  Durability durability_;
  size_t huge_page_bytes_;
  std::unique_ptr<Room> room_ = std::make_unique<Room>();
};

}  // namespace

bool Medium::has(std::string_view name) const {
  return access((directory() + "/" + std::string(name)).c_str(), F_OK) == 0;
}

Status Medium::vacate(std::string_view) { return {Code::unsupported, "this medium's regions are no memory"}; }
Status Medium::reserve(std::string_view) { return {}; }

std::vector<MemoryLimit> limits_of(MediumKind kind, const std::string& directory) {
  std::vector<MemoryLimit> limits;
  if (kind == MediumKind::tmpfs) {
    limits = memory_limits();
    if (auto of_file_system = file_system_limit(directory)) limits.push_back(std::move(*of_file_system));
  }
  // Every process that drains maps every region.
  if (auto of_addresses = address_limit()) limits.push_back(std::move(*of_addresses));
  return limits;
}

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
  if (outlives_power(facts.value().kind, durability)) PMIO_TRY(opened->sync_new_name());
  return std::unique_ptr<Medium>(std::make_unique<FileMedium>(std::move(*opened), facts.value(), durability));
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
