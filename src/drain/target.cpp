// Reading and writing the target, its size and its times.
#include "drain/target.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <vector>

#include "base/clock.h"
#include "base/file_system.h"
#include "drain/target_calls.h"
#include "stats/io_lines.h"

namespace pmio {
namespace {

// Linux transfers at most this much per call. A larger request is no error, but leads to a needless short
// count.
constexpr uint64_t kMostPerCall = 0x7ffff000;

void count_call(std::atomic<uint64_t> (&classes)[3], uint64_t length) {
  classes[length <= 1024 ? 0 : length <= (1 << 20) ? 1 : 2].fetch_add(1, std::memory_order_relaxed);
}

void add(std::atomic<uint64_t>& counter, uint64_t value) {
  counter.fetch_add(value, std::memory_order_relaxed);
}

bool in_file_range(uint64_t offset, uint64_t length) {
  return offset <= INT64_MAX && length <= INT64_MAX - offset;
}

}  // namespace

std::string TargetFile::file_system() const { return file_system_of(fd_, identity_.device); }

int64_t TargetFile::largest_bytes() const {
  const auto is_offset = [this](int64_t bytes) { return lseek(fd_, bytes, SEEK_SET) == bytes; };
  if (is_offset(INT64_MAX) || errno != EINVAL) return INT64_MAX;
  int64_t most = 0;
  for (int64_t step = int64_t{1} << 62; step > 0; step /= 2) {
    if (is_offset(most + step)) most += step;
  }
  return most;
}

Result<FileState> TargetFile::state(bool fresh) const {
  struct statx info;
  const int flags = AT_EMPTY_PATH | (fresh ? AT_STATX_FORCE_SYNC : 0);
  if (statx(fd_, "", flags, STATX_SIZE | STATX_MTIME, &info) != 0)
    return Status::from_errno(errno, what("cannot examine", path_));
  return FileState{info.stx_size, to_ns(info.stx_mtime)};
}

Result<FileState> TargetFile::set_back() const {
  auto before = state(true);
  if (!before.ok()) return before;
  const uint64_t earlier = before->mtime_ns - kSetBackNs;
  const timespec times[] = {
      {0, UTIME_OMIT}, {static_cast<time_t>(earlier / kSecondNs), static_cast<long>(earlier % kSecondNs)}};
  if (futimens(fd_, times) != 0) return Status::from_errno(errno, what("cannot set the times of", path_));
  auto after = state(true);
  if (after.ok() && after->mtime_ns >= before->mtime_ns)
    return Status(Code::unsupported, "'" + path_ + "' keeps no earlier time");
  return after;
}

Status TargetFile::write(uint64_t offset, const void* data, uint64_t length) {
  if (!in_file_range(offset, length)) return Status::from_errno(EFBIG, what("cannot write to", path_));
  PMIO_TRY(open_to_write());
  const auto* from = static_cast<const std::byte*>(data);
  while (length > 0) {
    const uint64_t ask = length < kMostPerCall ? length : kMostPerCall;
    const uint64_t start = monotonic_ns();
    const ssize_t n = pwrite(fd_, from, ask, static_cast<off_t>(offset));
    const int error = errno;
    add(counters_.write_ns, monotonic_ns() - start);
    count_call(counters_.writes, ask);
    if (n < 0 && error == EINTR) continue;
    if (n <= 0) return Status::from_errno(n < 0 ? error : EIO, what("cannot write to", path_));
    add(counters_.written_bytes, static_cast<uint64_t>(n));
    if (servers_) [[unlikely]]
      servers_->add(offset, static_cast<uint64_t>(n));
    IoLines::tell(IoLines::system_write, offset, static_cast<uint64_t>(n), path_);
    from += n;
    offset += static_cast<uint64_t>(n);
    length -= static_cast<uint64_t>(n);
  }
  return {};
}

// Writes the parts one behind the other in the file. Changes parts.
Status TargetFile::write_parts(uint64_t offset, std::span<iovec> parts, uint64_t length) {
  if (!in_file_range(offset, length)) return Status::from_errno(EFBIG, what("cannot write to", path_));
  PMIO_TRY(open_to_write());
  while (length > 0) {
    const uint64_t start = monotonic_ns();
    const ssize_t n = pwritev(fd_, parts.data(), static_cast<int>(parts.size()), static_cast<off_t>(offset));
    const int error = errno;
    add(counters_.write_ns, monotonic_ns() - start);
    count_call(counters_.writes, length);
    if (n < 0 && error == EINTR) continue;
    if (n <= 0) return Status::from_errno(n < 0 ? error : EIO, what("cannot write to", path_));
    const auto written = static_cast<uint64_t>(n);
    add(counters_.written_bytes, written);
    if (servers_) [[unlikely]]
      servers_->add(offset, written);
    IoLines::tell(IoLines::system_write, offset, written, path_);
    offset += written;
    length -= written;
    for (uint64_t left = written; left > 0;) {
      iovec& part = parts.front();
      const uint64_t done = std::min<uint64_t>(left, part.iov_len);
      part.iov_base = static_cast<std::byte*>(part.iov_base) + done;
      part.iov_len -= done;
      left -= done;
      if (part.iov_len == 0) parts = parts.subspan(1);
    }
  }
  return {};
}

Status TargetFile::write_blocks(std::span<const Block> blocks) {
  std::vector<iovec> parts;
  uint64_t end = 0;
  for (size_t i = 0; i < blocks.size();) {
    const uint64_t offset = blocks[i].offset;
    uint64_t length = 0;
    PMIO_ASSERT(offset >= end);  // blocks ascend
    parts.clear();
    do {
      parts.push_back({const_cast<std::byte*>(blocks[i].data), blocks[i].length});
      length += blocks[i].length;
      i++;
    } while (i < blocks.size() && parts.size() < IOV_MAX && blocks[i].offset == offset + length &&
             blocks[i].length <= kMostPerCall - std::min(length, kMostPerCall));
    end = offset + length;
    PMIO_TRY(write_parts(offset, parts, length));
  }
  return {};
}

Result<bool> TargetFile::allocate(uint64_t bytes) {
  if (!in_file_range(0, bytes)) return Status::from_errno(EFBIG, what("cannot make room in", path_));
  PMIO_TRY(open_to_write());
  while (bytes > 0 && fallocate(fd_, 0, 0, static_cast<off_t>(bytes)) != 0) {
    if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) return false;
    if (errno != EINTR) return Status::from_errno(errno, what("cannot make room in", path_));
  }
  return true;
}

Status TargetFile::set_size(uint64_t bytes) {
  if (!in_file_range(0, bytes)) return Status::from_errno(EFBIG, what("cannot set the size of", path_));
  PMIO_TRY(open_to_write());
  while (ftruncate(fd_, static_cast<off_t>(bytes)) != 0) {
    if (errno != EINTR) return Status::from_errno(errno, what("cannot set the size of", path_));
  }
  return {};
}

Status TargetFile::grow(uint64_t bytes, uint64_t known_end) {
  if (bytes <= known_end) return {};
  auto now = state(true);
  if (!now.ok()) return now.status();
  const std::byte zero{};
  return bytes <= now->size_bytes ? Status() : write(bytes - 1, &zero, 1);
}

Status TargetFile::read(uint64_t offset, void* data, uint64_t length, uint64_t* got) {
  *got = 0;
  if (offset > INT64_MAX) return {};
  if (!in_file_range(offset, length)) length = INT64_MAX - offset;
  auto* to = static_cast<std::byte*>(data);
  while (*got < length) {
    const uint64_t ask = length - *got < kMostPerCall ? length - *got : kMostPerCall;
    const uint64_t start = monotonic_ns();
    const ssize_t n = pread(fd_, to + *got, ask, static_cast<off_t>(offset + *got));
    const int error = errno;
    add(counters_.read_ns, monotonic_ns() - start);
    count_call(counters_.reads, ask);
    if (n < 0 && error == EINTR) continue;
    if (n < 0) return Status::from_errno(error, what("cannot read from", path_));
    IoLines::tell(IoLines::system_read, offset + *got, static_cast<uint64_t>(n), path_);
    if (n == 0) break;
    add(counters_.read_bytes, static_cast<uint64_t>(n));
    *got += static_cast<uint64_t>(n);
  }
  return {};
}

void IoCounters::add_to(HistoryNumbers& now) const {
  now.written_bytes += written_bytes.load(std::memory_order_relaxed);
  now.read_bytes += read_bytes.load(std::memory_order_relaxed);
  now.file_ns += write_ns.load(std::memory_order_relaxed) + read_ns.load(std::memory_order_relaxed);
}

FileNumbers TargetFile::take_numbers() {
  const auto take = [](std::atomic<uint64_t>& counter) {
    return counter.exchange(0, std::memory_order_relaxed);
  };
  FileNumbers taken;
  taken.target_writes_1k = take(counters_.writes[0]);
  taken.target_writes_1m = take(counters_.writes[1]);
  taken.target_writes_large = take(counters_.writes[2]);
  taken.target_write_bytes = take(counters_.written_bytes);
  taken.target_write_ns = take(counters_.write_ns);
  taken.target_reads_1k = take(counters_.reads[0]);
  taken.target_reads_1m = take(counters_.reads[1]);
  taken.target_reads_large = take(counters_.reads[2]);
  taken.target_read_bytes = take(counters_.read_bytes);
  taken.target_read_ns = take(counters_.read_ns);
  taken.gaps = take(counters_.gaps);
  taken.gap_bytes = take(counters_.gap_bytes);
  taken.read_modify_writes = take(counters_.rewrites);
  taken.read_modify_write_bytes = take(counters_.rewritten_bytes);
  return taken;
}

void TargetFile::forget_cached(uint64_t offset, uint64_t length) {
  // The kernel would keep the whole of a page that the range holds only in part.
  static const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t begin = offset / page * page;
  const uint64_t end = length == 0 ? begin : (offset + length + page - 1) / page * page;
  // It is advice: if the kernel cannot take it, there is nothing better. A length of 0 means all to the end.
  (void)posix_fadvise(fd_, static_cast<off_t>(begin), static_cast<off_t>(end - begin), POSIX_FADV_DONTNEED);
}

void TargetFile::read_nothing_ahead() { (void)posix_fadvise(fd_, 0, 0, POSIX_FADV_RANDOM); }

}  // namespace pmio
