#include "log/target_mark.h"

#include <cstdio>
#include <cstring>

#include "base/checksum.h"
#include "log/format.h"

namespace pmio {

namespace {

constexpr size_t kMarkBytes = 4096;
constexpr size_t kMarkCovered = offsetof(TargetMarkRecord, state);  // the checksum begins here

uint32_t checksum(const TargetMarkRecord& record) {
  return crc32c(0, reinterpret_cast<const std::byte*>(&record) + kMarkCovered, sizeof record - kMarkCovered);
}

std::optional<TargetMarkRecord> parse(std::span<const std::byte> bytes) {
  TargetMarkRecord record;
  if (bytes.size() < sizeof record) return std::nullopt;
  std::memcpy(&record, bytes.data(), sizeof record);
  if (record.magic != kTargetMarkMagic || record.version != kFormatMajor || record.crc != checksum(record))
    return std::nullopt;
  return record;
}

TargetMarkRecord make(uint32_t state, uint32_t flags, const FileState& file) {
  TargetMarkRecord record{};
  record.magic = kTargetMarkMagic;
  record.version = kFormatMajor;
  record.state = state;
  record.flags = flags;
  record.size_bytes = file.size_bytes;
  record.mtime_ns = file.mtime_ns;
  const BootId boot = this_boot();
  std::memcpy(record.boot, boot.data(), boot.size());
  record.crc = checksum(record);
  return record;
}

std::span<const std::byte> bytes_of(const Region& region) { return {region.data(), region.size_bytes()}; }

BootId read_boot() {
  BootId boot{};
  FILE* file = std::fopen("/proc/sys/kernel/random/boot_id", "re");
  if (file == nullptr) return boot;
  char text[64] = {};
  const size_t length = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  size_t digit = 0;
  for (size_t i = 0; i < length && digit < 2 * boot.size(); i++) {
    unsigned value = 0;
    const char one[2] = {text[i], '\0'};
    if (std::sscanf(one, "%x", &value) != 1) continue;  // a hyphen
    boot[digit / 2] |= static_cast<std::byte>(digit % 2 == 0 ? value << 4 : value);
    digit++;
  }
  return boot;
}

}  // namespace

BootId this_boot() {
  static const BootId boot = read_boot();
  return boot;
}

Result<TargetMark> TargetMark::create(Medium& medium, std::string_view name) {
  auto region = medium.create(name, kMarkBytes, false);
  if (!region.ok()) return region.status();
  return TargetMark(std::move(region).value());
}

Result<TargetMark> TargetMark::open(Medium& medium, std::string_view name) {
  auto region = medium.open(name, false);
  if (!region.ok()) return region.status();
  if ((*region)->size_bytes() < sizeof(TargetMarkRecord))
    return Status(Code::corrupt, std::string(name) + " is too short for a mark");
  return TargetMark(std::move(region).value());
}

bool TargetMark::blank() const { return !parse(bytes_of(*region_)); }

void TargetMark::clear() {
  const TargetMarkRecord none{};
  region_->copy(0, &none, sizeof none);
  region_->flush(0, sizeof none);
}

std::optional<FileState> TargetMark::settled_state() const { return pmio::settled_state(bytes_of(*region_)); }

Status TargetMark::writing() {
  PMIO_ASSERT(region_ != nullptr);
  const auto now = parse(bytes_of(*region_));
  if (now && now->state == kMarkWriting) return {};
  TargetMarkRecord before;
  std::memcpy(&before, region_->data(), sizeof before);
  const TargetMarkRecord record = make(kMarkWriting, 0, {});
  region_->copy(0, &record, sizeof record);
  region_->flush(0, sizeof record);
  Status status = region_->sync();
  // It is not durable, so nobody may take it for said. The next call tries again.
  if (!status.ok()) region_->copy(0, &before, sizeof before);
  return status;
}

void TargetMark::settled(const FileState& state, bool ahead) {
  PMIO_ASSERT(region_ != nullptr);
  const TargetMarkRecord record = make(kMarkSettled, ahead ? kMarkAhead : 0, state);
  region_->copy(0, &record, sizeof record);
  region_->flush(0, sizeof record);
}

std::optional<FileState> settled_state(std::span<const std::byte> mark) {
  const auto record = parse(mark);
  if (!record || record->state != kMarkSettled) return std::nullopt;
  return FileState{record->size_bytes, record->mtime_ns};
}

bool matches_ledger(std::span<const std::byte> mark) {
  const auto record = parse(mark);
  return record && record->state == kMarkSettled && (record->flags & kMarkAhead) == 0;
}

bool changed_since(std::span<const std::byte> mark, const FileState& now, const BootId& boot) {
  const auto record = parse(mark);
  if (!record || record->state != kMarkSettled) return false;
  const bool same_boot = boot != BootId{} && std::memcmp(record->boot, boot.data(), boot.size()) == 0;
  if (same_boot) return record->size_bytes != now.size_bytes || record->mtime_ns != now.mtime_ns;
  return now.size_bytes > record->size_bytes || now.mtime_ns > record->mtime_ns;
}

}  // namespace pmio
