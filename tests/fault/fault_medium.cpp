#include "fault_medium.h"

#include <cerrno>
#include <cstring>

namespace pmio::fault {
namespace {

class FaultRegion final : public Region {
 public:
  FaultRegion(Machine& machine, std::shared_ptr<Machine::File> file, std::unique_ptr<Region> real,
              bool fence_is_sync)
      : machine_(machine), file_(std::move(file)), real_(std::move(real)), fence_is_sync_(fence_is_sync) {
    data_ = real_->data();
    size_ = real_->size_bytes();
  }

  void copy(size_t offset_bytes, const void* source, size_t length_bytes) override {
    machine_.happens(Event::store);
    file_->shadow->observe(offset_bytes, length_bytes);
    const size_t half = length_bytes / 2 / Shadow::kWord * Shadow::kWord;
    if (half > 0) {
      std::memcpy(data_ + offset_bytes, source, half);
      machine_.happens(Event::store);
    }
    std::memcpy(data_ + offset_bytes + half, static_cast<const std::byte*>(source) + half,
                length_bytes - half);
    file_->shadow->observe(offset_bytes, length_bytes);
  }
  void flush(size_t offset_bytes, size_t length_bytes) override {
    machine_.happens(Event::flush);
    file_->shadow->flush(offset_bytes, length_bytes);
  }
  Status fence() override { return wait(Event::fence, fence_is_sync_); }
  Status sync() override { return wait(Event::sync, true); }

 private:
  Status wait(Event event, bool durable) {
    if (machine_.happens(event)) {
      file_->shadow->failed_fence();
      return Status(Code::io, "the medium failed", EIO);
    }
    if (durable) file_->shadow->fence();
    return {};
  }
  Machine& machine_;
  const std::shared_ptr<Machine::File> file_;
  std::unique_ptr<Region> real_;
  const bool fence_is_sync_;
};

}  // namespace

std::unique_ptr<Region> FaultMedium::wrap(std::string_view name, std::unique_ptr<Region> real) {
  const bool fence_is_sync = kind_ != MediumKind::disk || durability_ == Durability::always;
  return std::make_unique<FaultRegion>(machine_, machine_.file(std::string(name), *real_), std::move(real),
                                       fence_is_sync);
}

Result<std::unique_ptr<Region>> FaultMedium::create(std::string_view name, size_t size_bytes, bool lasting) {
  if (machine_.happens(Event::create)) return Status(Code::no_space, "the medium is full", ENOSPC);
  auto region = real_->create(name, size_bytes, lasting);
  if (!region.ok()) return region;
  if (lasting) machine_.names_synced();
  machine_.file(std::string(name), *real_)->lasting = lasting;
  return wrap(name, std::move(region).value());
}

Result<std::unique_ptr<Region>> FaultMedium::open(std::string_view name, bool read_only) {
  auto region = real_->open(name, read_only);
  if (!region.ok() || read_only) return region;
  return wrap(name, std::move(region).value());
}

}  // namespace pmio::fault
