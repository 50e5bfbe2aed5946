#include "node/log_copies.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/memory_limits.h"
#include "log/format.h"

namespace pmio {
namespace {

// Of a part of the memory.
class CopyRegion final : public Region {
 public:
  CopyRegion(void* address, size_t bytes) {
    data_ = static_cast<std::byte*>(address);
    size_ = bytes;
  }
  ~CopyRegion() override { munmap(data_, size_); }
  void copy(size_t, const void*, size_t) override {}
  void flush(size_t, size_t) override {}
  Status fence() override { return {}; }
  Status sync() override { return {}; }
};

const LogRecord& record_of(const Region& segment, uint32_t index) {
  return *(reinterpret_cast<const LogRecord*>(segment.data() + segment.size_bytes()) - 1 - index);
}

// The kernel kills processes where memory lacks, instead of refusing it.
Status require_room(uint64_t bytes) {
  const std::vector<MemoryLimit> limits = memory_limits();
  if (room_bytes(limits, Keep::half) >= bytes) return {};
  return {Code::no_space, "too little memory is left to copy what was logged"};
}

}  // namespace

LogCopies::~LogCopies() {
  if (table_ != nullptr) munmap(table_, kCopyTableBytes);
}

Status LogCopies::make() {
  if (table_ != nullptr) return {};
  FileDescriptor memory = out_of_the_way(FileDescriptor(memfd_create("pmio-log", MFD_CLOEXEC)));
  if (!memory.ok()) return Status::from_errno(errno, "cannot make memory for copies of the log");
  if (kCopyTableBytes > largest_file_bytes())  // else a signal would end the program
    return Status(Code::no_space, "copies of the log are larger than 'ulimit -f'", EFBIG);
  if (const int error = posix_fallocate(memory.get(), 0, kCopyTableBytes); error != 0)
    return Status::from_errno(error, "cannot reserve memory for copies of the log");
  void* address = mmap(nullptr, kCopyTableBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (address == MAP_FAILED) return Status::from_errno(errno, "cannot map copies of the log");
  table_ = static_cast<CopyTable*>(address);
  memory_ = std::move(memory);
  return {};
}

Status LogCopies::write(const std::byte* from, size_t length, uint64_t at) {
  while (length > 0) {
    const ssize_t n = pwrite(memory_.get(), from, length, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Status::from_errno(n < 0 ? errno : EIO, "cannot copy what was logged");
    from += n;
    at += static_cast<uint64_t>(n);
    length -= static_cast<size_t>(n);
  }
  return {};
}

Status LogCopies::add(uint32_t slot, uint64_t salt, const Region& segment, uint32_t from, uint32_t to) {
  PMIO_ASSERT(slot < kMaxSlots && from < to);
  const size_t size = segment.size_bytes();
  const LogRecord &first = record_of(segment, from), &last = record_of(segment, to - 1);
  // Data goes upwards, record by record.
  const uint64_t begin = uint64_t{first.data_position} * kDataAlignment;
  const uint64_t end = uint64_t{last.data_position} * kDataAlignment + last.length;
  const uint64_t records_begin = size - uint64_t{to} * sizeof(LogRecord);
  const uint64_t records_end = size - uint64_t{from} * sizeof(LogRecord);
  PMIO_TRY(require_room(kHeaderBytes + (end - begin) + (records_end - records_begin)));
  PMIO_TRY(make());
  const uint64_t at = end_;
  if (at + size > largest_file_bytes())
    return Status(Code::no_space, "copies of the log are larger than 'ulimit -f'", EFBIG);
  PMIO_TRY(write(segment.data(), kHeaderBytes, at));
  PMIO_TRY(write(segment.data() + begin, end - begin, at + begin));
  PMIO_TRY(write(segment.data() + records_begin, records_end - records_begin, at + records_begin));
  // To the end of the segment, or what is mapped would go beyond the memory.
  if (from > 0) PMIO_TRY(write(segment.data() + size - 1, 1, at + size - 1));
  end_ = at + size;
  CopyTable::Slot& entry = table_->slots[slot];
  entry.at = at;
  entry.bytes = size;
  entry.records.store(to, std::memory_order_relaxed);
  entry.salt.store(salt, std::memory_order_release);
  return {};
}

Result<std::unique_ptr<FoundCopies>> FoundCopies::open(int32_t process, int descriptor) {
  const std::string name = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
  FileDescriptor memory =
      out_of_the_way(FileDescriptor(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)));
  if (!memory.ok()) return Status::from_errno(errno, name);
  void* address = mmap(nullptr, kCopyTableBytes, PROT_READ, MAP_SHARED, memory.get(), 0);
  if (address == MAP_FAILED) return Status::from_errno(errno, "cannot map copies of the log");
  return std::unique_ptr<FoundCopies>(
      new FoundCopies(std::move(memory), static_cast<const CopyTable*>(address)));
}

FoundCopies::~FoundCopies() {
  munmap(const_cast<CopyTable*>(table_), kCopyTableBytes);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

bool FoundCopies::has(uint32_t slot, uint64_t salt, uint32_t records) const {
  // Acquire: who sees the salt sees the rest of the entry, and the bytes.
  return slot < kMaxSlots && table_->slots[slot].salt.load(std::memory_order_acquire) == salt &&
         table_->slots[slot].records.load(std::memory_order_relaxed) >= records;
}

Result<std::unique_ptr<Region>> FoundCopies::map(uint32_t slot) const {
  if (slot >= kMaxSlots || table_->slots[slot].salt.load(std::memory_order_acquire) == 0)
    return Status(Code::io, "there is no copy", ENOENT);
  const CopyTable::Slot& entry = table_->slots[slot];
  void* address =
      mmap(nullptr, entry.bytes, PROT_READ, MAP_SHARED, memory_.get(), static_cast<off_t>(entry.at));
  if (address == MAP_FAILED) return Status::from_errno(errno, "cannot map a copy of the log");
  return std::unique_ptr<Region>(std::make_unique<CopyRegion>(address, entry.bytes));
}

}  // namespace pmio
