#include "job/rendezvous.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/file_descriptor.h"
#include "base/memory_limits.h"
#include "base/robust_lock.h"
#include "medium/job_name.h"

namespace pmio {

constexpr size_t kSaid = 256;  // texts that are remembered

struct Rendezvous::Memory {                        // NOLINT(clang-analyzer-optin.performance.Padding)
  alignas(64) std::atomic<uint64_t> files_logged;  // on a line of its own: all read it, few write it
  std::atomic<uint64_t> logs_in_use;
  std::atomic<uint64_t> files_lagging;
  std::atomic<uint64_t> files_handed_on;
  alignas(64) RobustMutex mutex;  // robust, process-shared; guards the rest
  SharedLoss loss;
  std::atomic<uint64_t> said[kSaid];  // of what was said, a hash each; 0: none. Guarded by nothing
  JobPlace place;                     // of inode 0: nobody has said
  char directory[PATH_MAX];           // empty: nobody has joined
};

static std::string name_of(uint64_t job) { return "/pmio-" + job_name(job); }

Result<std::unique_ptr<Rendezvous>> Rendezvous::map(int fd, const std::string& name) {
  const int flags = fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  void* address = mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, flags, fd, 0);
  if (address == MAP_FAILED) return Status::from_errno(errno, "cannot map the shared memory '" + name + "'");
  return std::unique_ptr<Rendezvous>(new Rendezvous(static_cast<Memory*>(address)));
}

Result<std::unique_ptr<Rendezvous>> Rendezvous::create(uint64_t job) {
  const std::string name = name_of(job);
  const FileDescriptor fd(shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.ok()) return Status::from_errno(errno, "cannot create the shared memory '" + name + "'");
  // Reserved, or the first touch of a full file system would be fatal.
  Status status;
  const bool may_be = sizeof(Memory) <= largest_file_bytes();  // else a signal would end the program
  if (const int error = may_be ? posix_fallocate(fd.get(), 0, sizeof(Memory)) : EFBIG)
    status = Status::from_errno(error, "cannot reserve the shared memory '" + name + "'");
  auto made = status.ok() ? map(fd.get(), name) : status;
  if (made.ok())
    (*made)->memory_->mutex.init();
  else
    remove_name(job);
  return made;
}

Result<std::unique_ptr<Rendezvous>> Rendezvous::create_alone() {
  auto made = map(-1, "of one process");
  if (made.ok()) (*made)->memory_->mutex.init();
  return made;
}

Result<std::unique_ptr<Rendezvous>> Rendezvous::open(uint64_t job) {
  const std::string name = name_of(job);
  const FileDescriptor fd(shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0));
  if (!fd.ok()) return Status::from_errno(errno, "cannot open the shared memory '" + name + "'");
  struct stat facts {};
  if (fstat(fd.get(), &facts) != 0) return Status::from_errno(errno, "cannot examine '" + name + "'");
  if (facts.st_uid != geteuid() || facts.st_size != sizeof(Memory))
    return Status(Code::access, "the shared memory '" + name + "' is not this job's");
  return map(fd.get(), name);
}

void Rendezvous::remove_name(uint64_t job) { shm_unlink(name_of(job).c_str()); }

Rendezvous::~Rendezvous() { munmap(memory_, sizeof(Memory)); }

std::atomic<uint64_t>& Rendezvous::files_logged() { return memory_->files_logged; }
std::atomic<uint64_t>& Rendezvous::logs_in_use() { return memory_->logs_in_use; }
std::atomic<uint64_t>& Rendezvous::files_lagging() { return memory_->files_lagging; }
std::atomic<uint64_t>& Rendezvous::files_handed_on() { return memory_->files_handed_on; }

SharedLoss& Rendezvous::loss() { return memory_->loss; }

// FNV-1a, without the numbers of a segment's name: "seg-3-0" is rank 3's.
static uint64_t hash_of(std::string_view text) {
  constexpr std::string_view kSegment = "seg-";
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t at = 0; at < text.size(); at++) {
    hash = (hash ^ static_cast<unsigned char>(text[at])) * 0x100000001b3;
    if (text.substr(0, at + 1).ends_with(kSegment))
      while (at + 1 < text.size() && (isdigit(text[at + 1]) != 0 || text[at + 1] == '-')) at++;
  }
  return hash == 0 ? 1 : hash;
}

bool Rendezvous::first_to_say(std::string_view text) {
  const uint64_t hash = hash_of(text);
  for (size_t i = 0; i < kSaid; i++) {
    std::atomic<uint64_t>& entry = memory_->said[(hash + i) % kSaid];
    uint64_t known = entry.load(std::memory_order_relaxed);
    if (known == 0 && entry.compare_exchange_strong(known, hash, std::memory_order_relaxed)) return true;
    if (known == hash) return false;
  }
  return true;
}

Status Rendezvous::with_directory(const std::string& proposed,
                                  const std::function<Status(const std::string&)>& join) {
  if (proposed.empty() || proposed.size() >= sizeof memory_->directory)
    return Status(Code::invalid, "the name of the log directory is empty or too long; set PMIO_DIR");
  const auto known = [this] {
    return std::atomic_ref<char>(memory_->directory[0]).load(std::memory_order_acquire) != '\0';
  };
  // It stays, and so does the place that they compare theirs with.
  if (known()) return join(memory_->directory);
  RobustLock lock(memory_->mutex);
  if (known()) {
    lock.unlock();
    return join(memory_->directory);
  }
  memory_->place = {};
  PMIO_TRY(join(proposed));
  // The first byte last, in case this process dies here: it says that the rest is there.
  std::memcpy(memory_->directory + 1, proposed.c_str() + 1, proposed.size());
  std::atomic_ref<char>(memory_->directory[0]).store(proposed[0], std::memory_order_release);
  return {};
}

Status Rendezvous::agree_on(const JobPlace& place) {
  if (memory_->place.inode == 0) memory_->place = place;
  const JobPlace& first = memory_->place;
  if (first == place) return {};
  if (first.inode == place.inode && first.device == place.device)
    return {Code::access,
            "the ranks of this node have process numbers of their own each, so that none would know which of "
            "the others lives: let their containers share them (--pid=host)"};
  const std::string named = memory_->directory;
  return {Code::access,
          "'" + named +
              "' is not the same directory for all ranks of this node: name one in PMIO_DIR that is shared "
              "by their containers"};
}

}  // namespace pmio
