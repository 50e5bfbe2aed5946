// Persistent regions: named, memory-mapped files of fixed size in one directory, and how a store into them
// becomes durable. Everything that must survive a crash is written through a Region: so a medium that injects
// faults can stand behind the same interface.
//
// Durability: a store is durable once a flush of its range and then a fence have returned.
//   tmpfs  A store survives the death of the process as soon as it is executed. flush and fence are empty.
//   dax    Cache lines are flushed (or stored non-temporally), and a fence waits for them (libpmem2).
//   disk   With the policy always, fence calls msync on what was flushed; with sync, only sync() does; with
//   none,
//          nothing does.
//
// Threads: one at a time per Region object. Several Regions may map the same file, in several processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_limits.h"
#include "base/status.h"
#include "medium/huge_pages.h"

namespace pmio {

enum class MediumKind { tmpfs, disk, dax };
enum class Durability { always, sync, none };  // hint pmio_durability; only a disk tells them apart

const char* medium_kind_name(MediumKind kind);
const char* durability_name(Durability durability);
// Whether what a log holds is to survive a power failure: at least what was synced.
bool outlives_power(MediumKind kind, Durability durability);

class Region {
 public:
  virtual ~Region() = default;
  std::byte* data() const { return data_; }
  size_t size_bytes() const { return size_; }
  // A store is all that it takes: whoever stores to data() directly need not call any of the following.
  bool plain() const { return plain_; }

  // Copies into the mapping at offset_bytes. On return the bytes are visible to readers in program order, and
  // not durable yet.
  virtual void copy(size_t offset_bytes, const void* source, size_t length_bytes) = 0;
  // As copy, and returns crc32c(seed, source). It takes one pass if the medium can fuse them.
  virtual uint32_t copy_checksummed(size_t offset_bytes, const void* source, size_t length_bytes,
                                    uint32_t seed);
  // Starts making [offset, offset + length) durable. It is needed after copy, and may do nothing before
  // fence.
  virtual void flush(size_t offset_bytes, size_t length_bytes) = 0;
  // On return everything flushed before is durable, as far as the medium's policy promises.
  virtual Status fence() = 0;
  // As fence, also if the policy is `sync`: what MPI_File_sync needs.
  virtual Status sync() = 0;

 protected:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  bool plain_ = false;
};

// A directory on one medium. It must be the caller's own (the same euid), of mode 0700, and no symbolic link.
// Files are of mode 0600 and opened with O_NOFOLLOW.
class Medium {
 public:
  virtual ~Medium() = default;
  virtual MediumKind kind() const = 0;
  virtual Durability durability() const = 0;
  virtual const std::string& directory() const = 0;

  // Creates a region and reserves it, by posix_fallocate. Its bytes read as zero. no_space: ENOSPC; the
  // region would bring the job near to a limit of its memory; or no file may be so large (ulimit -f). No file
  // is left then. lasting: its name and its blocks survive what its bytes do. Else they may be gone after a
  // power failure.
  virtual Result<std::unique_ptr<Region>> create(std::string_view name, size_t size_bytes,
                                                 bool lasting = true) = 0;
  // Maps an existing file as a whole. If read_only, copy, flush and fence must not be called.
  virtual Result<std::unique_ptr<Region>> open(std::string_view name, bool read_only) = 0;
  virtual Status remove(std::string_view name) = 0;  // a name that is not there is ok
  // Gives a file that is there a name that is not. Mappings of the file stay. Not durable. unsupported: the
  // medium cannot do that.
  virtual Status rename(std::string_view /*from*/, std::string_view /*to*/) {
    return Status(Code::unsupported, "this directory renames nothing");
  }
  virtual bool has(std::string_view name) const;
  virtual Result<std::vector<std::string>> list() const = 0;  // names in the directory, sorted

  // Gives back the memory of a region whose bytes nobody needs. They read as zeros from then on, also by
  // existing mappings. Before anything is stored to it again, reserve() must have made room, as create does.
  // unsupported: the medium gains nothing by it.
  virtual Status vacate(std::string_view name);
  virtual Status reserve(std::string_view name);
  // The size of a large region is to be a multiple of this. Then it consists of huge pages, and nothing of
  // the last one is lost. 0: there are none.
  virtual size_t huge_page_bytes() const { return 0; }
  // What bounds the memory that regions take.
  virtual std::vector<MemoryLimit> limits() const { return {}; }

  // Touches the pages of [offset, offset + length) for writing, so that later stores take no fault. No
  // content changes.
  static void prefault(Region& region, size_t offset_bytes, size_t length_bytes);
};

// Opens the directory and finds out its kind. A missing one is created, with mode 0700, but not its parents.
Result<std::unique_ptr<Medium>> open_medium(const std::string& directory, Durability durability);

// How a directory becomes a Medium: by open_medium, unless a test puts one there that injects faults.
using MediumOpener =
    std::function<Result<std::unique_ptr<Medium>>(const std::string& directory, Durability durability)>;

// The limits for a directory that is, or will be, on that kind of medium.
std::vector<MemoryLimit> limits_of(MediumKind kind, const std::string& directory);

// What statfs, the mount options and a probe by MAP_SYNC say of a directory. Nothing is created.
struct MediumFacts {
  MediumKind kind;
  std::string file_system;           // "tmpfs", "ext4", ...
  uint64_t free_bytes;               // available to this user
  bool map_sync;                     // the DAX probe
  HugePages huge = HugePages::none;  // of a tmpfs
};
Result<MediumFacts> probe_medium(const std::string& directory);
// Whether logs in that directory, which need not be there yet, survive a power failure; also if that cannot
// be told.
bool may_outlive_power(const std::string& directory, Durability durability);
// The same as its free_bytes, without the rest.
Result<uint64_t> free_bytes_in(const std::string& directory);

}  // namespace pmio
