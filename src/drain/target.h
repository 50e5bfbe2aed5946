// The file that is drained to: its system calls, retried if they are interrupted or short, counted, with
// errors that name the file. Threads: any; pwrite and pread carry their offset. Windows that are written at
// the same time must be disjoint, because threads that share a descriptor also share its locks. Durability:
// none before sync().
#pragma once

#include <sys/uio.h>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/mutex.h"
#include "base/status.h"
#include "drain/interval.h"
#include "drain/server_bytes.h"
#include "log/format.h"
#include "log/target_mark.h"
#include "stats/file_statistics.h"
#include "stats/history.h"

namespace pmio {

struct IoCounters {  // system calls by size class (Cray's: up to 1 KiB, up to 1 MiB, larger), bytes, time
  std::atomic<uint64_t> writes[3]{}, reads[3]{};
  std::atomic<uint64_t> written_bytes{0}, read_bytes{0};
  std::atomic<uint64_t> write_ns{0}, read_ns{0};
  // Holes between intervals that were written by themselves; and writes as one with the bytes of such holes.
  std::atomic<uint64_t> gaps{0}, gap_bytes{0}, rewrites{0}, rewritten_bytes{0};
  void add_to(HistoryNumbers& now) const;  // what is not counted elsewhere yet
};

class TargetFile {
 public:
  // Opens an existing regular file with that access. Follows links. Errors: unsupported: it is no regular
  // file; else as of open(2).
  enum class Access { read_only, write_only, read_write };
  static Result<std::unique_ptr<TargetFile>> open(const std::string& path, Access access);
  // Opens the file to read it; access() is read_write if this process may write it. Nothing is opened for
  // writing before open_to_write or the first write. Until then the system takes it for a file that is read.
  // It can be executed, watchers see no writer, and an overlay file system makes no copy.
  static Result<std::unique_ptr<TargetFile>> open_to_read(const std::string& path);
  // From now on the same descriptor can write, if it could not yet. Errors: as of open(2).
  Status open_to_write();
  bool opened_to_write() const { return opened_to_write_.load(std::memory_order_acquire); }
  // As open, but only the file that is meant. Nothing is opened for I/O before its kind and its identity have
  // been checked. Whoever can exchange the path, or a link in it, meanwhile gains nothing. invalid: it is
  // another file.
  static Result<std::unique_ptr<TargetFile>> open_same(const std::string& path, const FileIdentity& meant,
                                                       Access access);
  // As open_same, for a path that was recorded together with `meant`; compares by is_recorded.
  static Result<std::unique_ptr<TargetFile>> open_recorded(const std::string& path, const FileIdentity& meant,
                                                           Access access);
  // Opens this very file once more, whatever its path leads to by now.
  Result<std::unique_ptr<TargetFile>> reopen(Access access) const;
  // The same, to be read only, and past the kernel's page cache if the file system runs in user space and
  // allows it.
  Result<std::unique_ptr<TargetFile>> reopen_past_cache();
  bool past_cache() const { return past_cache_; }
  // Gives the descriptor back, or takes the descriptor of another object for the same file. In between
  // nothing may be read or written.
  void lay_down();
  void take_up(std::unique_ptr<TargetFile> opened);
  ~TargetFile();

  // The identity of the open file: device, inode and birth time, by statx.
  Result<FileIdentity> identity() const { return identity_; }
  std::string file_system() const;  // base/file_system.h
  // fresh: asks the server of a network file system, after a sync: until then MooseFS's client goes by what
  // it knows of an open file.
  Result<uint64_t> size_bytes(bool fresh = false);
  // The most bytes that the file can ever have, as the file system tells; INT64_MAX: it does not tell.
  int64_t largest_bytes() const;
  // fresh: asks the server of a network file system, as far as its client does.
  Result<FileState> state(bool fresh = false) const;
  // More than a tick of any clock that files get their times from, and more than the clocks of two nodes
  // differ.
  static constexpr uint64_t kSetBackNs = 10'000'000;
  // Sets the time of modification back by as much. Then every later write changes it. So does one within the
  // same tick of the file system's clock, or by a clock that is a little behind. Returns the file's new
  // state. Errors: access: it is somebody else's file; unsupported: the file system keeps no such time.
  Result<FileState> set_back() const;
  Status write(uint64_t offset, const void* data, uint64_t length);
  // Reads up to length bytes. *got is less only at the end of the file.
  Status read(uint64_t offset, void* data, uint64_t length, uint64_t* got);
  // Later reads of the range's pages come from the file system, and not from what this node has cached:
  // another node may have written. A length of 0 means all to the end.
  void forget_cached(uint64_t offset, uint64_t length);
  // Keeps the kernel from reading ahead: it might bring bytes into the cache after forget_cached.
  void read_nothing_ahead();
  // Writes the covered intervals (sorted, disjoint) of a window whose bytes are in `window`; window[0] is
  // file byte a. Many tiny intervals close to each other (mean below 4 KiB, more than 16, gaps up to 64 KiB)
  // are written as one read-modify-write. It is done under an fcntl lock of their range, if the file can be
  // read and locked. Nothing before the first or behind the last covered byte is written. Nor is a block of
  // the file system that lies in a hole and holds no covered byte. May change bytes of window outside
  // covered.
  Status write_covered(uint64_t a, std::byte* window, std::span<const Interval> covered);
  // The same with each interval by itself, for a file in whose gaps other nodes may write meanwhile.
  Status write_each(uint64_t a, const std::byte* window, std::span<const Interval> covered);
  // Writes bytes that lie apart in memory. The blocks are in ascending order in the file, without overlap.
  // One system call writes those that touch in the file.
  struct Block {
    uint64_t offset;  // in the file
    const std::byte* data;
    uint64_t length;
  };
  Status write_blocks(std::span<const Block> blocks);
  // Has the file system make room for the file's first bytes. No byte that is there changes, and the file is
  // at least so long. False: the file system has no call for that.
  Result<bool> allocate(uint64_t bytes);
  // Makes the file so long, or leaves it longer; no room is made. known_end: the end of what is in the file
  // as far as anybody knows. Only the new last byte is written, and only if neither known_end nor the file
  // system says that the file reaches beyond it. So whoever makes the file longer meanwhile loses no other
  // byte.
  Status grow(uint64_t bytes, uint64_t known_end);
  // ftruncate.
  Status set_size(uint64_t bytes);
  // Has the kernel begin to bring these bytes to their storage; waits for nothing, promises nothing. So a
  // sync that follows finds less to do.
  void begin_sync(uint64_t offset, uint64_t length) const;
  // fdatasync. The kernel tells a descriptor once that bytes are lost, to the thread that asks first.
  Status sync();
  // The same for what any process of this node has written. If a file system in user space could not keep
  // others' writes, it may tell only these.
  Status sync_of_all();
  // Whether sync() and flush() may serve this descriptor's writes alone. A file system in user space is told
  // the descriptor, and MooseFS's client does nothing for one that has not written.
  bool syncs_own_writes() { return in_user_space(); }
  // How often the descriptor was told of a loss. sync_since fails if there were others since there were
  // `losses`.
  uint64_t losses() const { return losses_.load(std::memory_order_acquire); }
  Status sync_since(uint64_t losses);
  // On return the file's bytes, its name and its size are durable. A program needs it that has just created
  // the file.
  Status sync_name();
  // Sends on what a file system keeps back until a close, as NFS and Lustre do, and learns of its errors.
  // Elsewhere it does nothing. Not durable.
  Status flush();
  int fd() const { return fd_; }
  Access access() const { return access_; }
  const std::string& path() const { return path_; }
  IoCounters& counters() { return counters_; }
  // From now on what is written is counted by server, too. Before the first write.
  void count_servers(const Layout& layout) { servers_ = std::make_unique<ServerBytes>(layout); }
  std::vector<uint64_t> take_server_bytes() { return servers_ ? servers_->take() : std::vector<uint64_t>(); }
  // The same since the last call of this, with nothing else in the numbers.
  FileNumbers take_numbers();

 private:
  TargetFile() = default;
  using Same = bool (*)(const FileIdentity&, const FileIdentity&);
  static Result<std::unique_ptr<TargetFile>> open_if(const std::string& path, const FileIdentity& meant,
                                                     Access access, Same same);
  static Result<std::unique_ptr<TargetFile>> finish_open(int fd, const std::string& path, Access access);
  Status write_parts(uint64_t offset, std::span<iovec> parts, uint64_t length);
  bool in_user_space();
  void read_past_cache();
  Status sieve(uint64_t a, std::byte* window, std::span<const Interval> covered);
  Status rewrite(uint64_t a, std::byte* window, std::span<const Interval> covered);
  int fd_ = -1;
  Access access_ = Access::read_write;
  Mutex open_mutex_;                          // held by open_to_write
  std::atomic<bool> opened_to_write_{false};  // fd_; stays
  bool past_cache_ = false;
  std::string path_;
  FileIdentity identity_;
  IoCounters counters_;
  std::unique_ptr<ServerBytes> servers_;         // null: not counted
  Mutex sync_mutex_;                             // held around fdatasync: the next thread knows of a failure
  std::atomic<int> in_user_space_{-1};           // unknown
  int untold_ PMIO_GUARDED_BY(sync_mutex_) = 0;  // the errno of a failure that its caller has told nobody
  std::atomic<uint64_t> losses_{0};
};

// Whether they are the same file, as far as the identities tell. Birth times are compared if both are known.
bool same_file(const FileIdentity& a, const FileIdentity& b);

// Whether what is found on a recorded path is the file that was recorded with it. It is as same_file, except
// that device numbers do not count if both are of file systems without a device of their own (network file
// systems, FUSE, btrfs). Such a number is another one after the next mount.
bool is_recorded(const FileIdentity& recorded, const FileIdentity& found);

// The identity of what a path leads to, which is not opened for I/O.
Result<FileIdentity> identity_of(const std::string& path);

}  // namespace pmio
