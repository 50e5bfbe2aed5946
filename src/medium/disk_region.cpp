// Any other file system: stores reach the page cache, and msync takes them to the device.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "medium/regions.h"

namespace pmio {

namespace {

class DiskRegion final : public MappedRegion {
 public:
  explicit DiskRegion(Durability durability) : durability_(durability) {}

  void flush(size_t offset_bytes, size_t length_bytes) override {
    if (durability_ == Durability::none || length_bytes == 0) return;
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    add({offset_bytes / page * page, offset_bytes + length_bytes});
  }
  Status fence() override { return durability_ == Durability::always ? write_back() : Status(); }
  Status sync() override { return durability_ == Durability::none ? Status() : write_back(); }

 private:
  struct Range {
    size_t begin, end;
  };

  // Joins with a range that it touches. A log grows at two ends, so two ranges are the common case. They are
  // not joined into one: the pages between are prefaulted, hence dirty, and would all be written.
  void add(Range added) {
    for (Range& range : pending_) {
      if (added.begin > range.end || range.begin > added.end) continue;
      range = {std::min(range.begin, added.begin), std::max(range.end, added.end)};
      return;
    }
    pending_.push_back(added);
  }

  // The ranges that failed stay pending, so that a later attempt covers them again.
  Status write_back() {
    while (!pending_.empty()) {
      const Range& range = pending_.back();
      if (msync(data_ + range.begin, std::min(range.end, size_) - range.begin, MS_SYNC) != 0)
        return Status::from_errno(errno, "msync of the log; the device that holds PMIO_DIR reports an error");
      pending_.pop_back();
    }
    return Status();
  }

  Durability durability_;
  std::vector<Range> pending_;
};

}  // namespace

Result<std::unique_ptr<Region>> map_disk(int fd, size_t size_bytes, bool read_only, Durability durability) {
  auto region = std::make_unique<DiskRegion>(durability);
  PMIO_TRY(region->map(fd, size_bytes, read_only));
  return std::unique_ptr<Region>(std::move(region));
}

}  // namespace pmio
