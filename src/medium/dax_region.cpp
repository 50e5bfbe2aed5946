// Persistent memory behind a DAX file system: libpmem2 picks the instructions that the processor has.
#include "medium/pmem2.h"
#include "medium/regions.h"

namespace pmio {

namespace {

class DaxRegion final : public Region {
 public:
  explicit DaxRegion(const Pmem2& pmem2) : pmem2_(pmem2) {}
  ~DaxRegion() override {
    if (map_ != nullptr) pmem2_.map_delete(&map_);
  }

  Status map(int fd, bool read_only) {
    pmem2_source* source = nullptr;
    pmem2_config* config = nullptr;
    Status status;
    if (pmem2_.source_from_fd(&source, fd) != 0 || pmem2_.config_new(&config) != 0)
      status = error("describing persistent memory");
    // This request includes MAP_SYNC. A coarser granularity is refused, and so is a file system that is not
    // DAX.
    else if (pmem2_.config_set_required_store_granularity(config, PMEM2_GRANULARITY_CACHE_LINE) != 0 ||
             pmem2_.config_set_protection(
                 config, read_only ? PMEM2_PROT_READ : PMEM2_PROT_READ | PMEM2_PROT_WRITE) != 0 ||
             pmem2_.map_new(&map_, config, source) != 0)
      status = error("mapping persistent memory");
    if (config != nullptr) pmem2_.config_delete(&config);
    if (source != nullptr) pmem2_.source_delete(&source);
    if (!status.ok()) return status;
    bind();
    return Status();
  }

  // Flushes while it copies, or stores past the caches. Only the wait is left for fence.
  void copy(size_t offset_bytes, const void* source, size_t length_bytes) override {
    copy_(data_ + offset_bytes, source, length_bytes, PMEM2_F_MEM_NODRAIN);
  }
  void flush(size_t offset_bytes, size_t length_bytes) override {
    flush_(data_ + offset_bytes, length_bytes);
  }
  Status fence() override {
    drain_();
    return Status();
  }
  Status sync() override { return fence(); }

 private:
  Status error(const char* what) const {
    return Status(Code::io, std::string(what) + ": " + pmem2_.errormsg());
  }
  void bind() {
    data_ = static_cast<std::byte*>(pmem2_.map_get_address(map_));
    size_ = pmem2_.map_get_size(map_);
    copy_ = pmem2_.get_memcpy_fn(map_);
    flush_ = pmem2_.get_flush_fn(map_);
    drain_ = pmem2_.get_drain_fn(map_);
  }

  const Pmem2& pmem2_;
  pmem2_map* map_ = nullptr;
  pmem2_memcpy_fn copy_ = nullptr;
  pmem2_flush_fn flush_ = nullptr;
  pmem2_drain_fn drain_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Region>> map_dax(int fd, size_t, bool read_only) {
  static const Result<Pmem2>& pmem2 = *new Result<Pmem2>(load_pmem2());
  if (!pmem2.ok()) return pmem2.status();
  auto region = std::make_unique<DaxRegion>(pmem2.value());
  PMIO_TRY(region->map(fd, read_only));
  return std::unique_ptr<Region>(std::move(region));
}

}  // namespace pmio
