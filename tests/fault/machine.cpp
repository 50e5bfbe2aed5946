#include "machine.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/checksum.h"
#include "fault_medium.h"
#include "medium/directory.h"
#include "node/control.h"
#include "system_calls.h"

namespace pmio::fault {
namespace {

constexpr size_t kSector = 512;  // a disk's atom

// Compared with itself, a byte further on, which is quick under the sanitizers too.
bool all_zero(std::span<const std::byte> bytes) {
  return bytes.empty() ||
         (bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

Machine* current = nullptr;

bool same_inode(int fd, const std::string& path) {
  struct stat open, named;
  return fstat(fd, &open) == 0 && stat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

// A mark of an earlier start, if it is one at all.
void restamp(Bytes* bytes) {
  constexpr size_t kCovered = offsetof(TargetMarkRecord, state);
  TargetMarkRecord mark;
  const auto checksum = [&mark] {
    return crc32c(0, reinterpret_cast<const std::byte*>(&mark) + kCovered, sizeof mark - kCovered);
  };
  std::memcpy(&mark, bytes->data(), sizeof mark);
  if (mark.crc != checksum()) return;
  std::memset(mark.boot, 0x5a, sizeof mark.boot);
  mark.crc = checksum();
  std::memcpy(bytes->data(), &mark, sizeof mark);
}

// After a power failure the machine is started again, and nothing that is true of this start holds.
void start_anew(Image* image) {
  for (auto& [name, bytes] : image->files) {
    if (name.compare(0, 5, "file-") == 0 && bytes.size() >= sizeof(FileControl))
      std::memset(bytes.data() + offsetof(FileControl, boot), 0x5a, sizeof(FileControl::boot));
    if (name.compare(0, 5, "mark-") == 0 && bytes.size() >= sizeof(TargetMarkRecord)) restamp(&bytes);
  }
}

void put(Bytes& bytes, size_t offset, const std::byte* data, size_t length) {
  if (bytes.size() < offset + length) bytes.resize(offset + length);
  std::memcpy(bytes.data() + offset, data, length);
}

}  // namespace

const char* event_name(Event event) {
  constexpr const char* kNames[kEvents] = {"store",  "flush",  "fence", "sync",
                                           "create", "remove", "write", "write_sync"};
  return kNames[static_cast<int>(event)];
}

Machine* Machine::running() { return current; }

Machine::~Machine() { stop(); }

void Machine::start(const std::string& directory, const std::string& target) {
  PMIO_ASSERT(current == nullptr);  // one at a time
  directory_ = directory;
  target_ = target;
  durable_target_ = read_bytes(target);
  auto medium = open_medium(directory, Durability::none);
  PMIO_ASSERT(medium.ok());
  real_ = std::move(medium).value();
  const auto names = real_->list();
  PMIO_ASSERT(names.ok());
  for (const std::string& name : names.value()) {
    if (std::filesystem::file_size(directory + "/" + name) > 0) file(name, *real_);
  }
  current = this;
  watched_ = true;
}

void Machine::stop() {
  if (current == this) current = nullptr;
}

MediumOpener Machine::opener(MediumKind kind, Durability durability) {
  return [=, this](const std::string& directory, Durability) -> Result<std::unique_ptr<Medium>> {
    auto real = open_medium(directory, Durability::none);
    if (!real.ok()) return real.status();
    return std::unique_ptr<Medium>(
        std::make_unique<FaultMedium>(*this, std::move(real).value(), kind, durability));
  };
}

uint64_t Machine::events() const {
  uint64_t sum = 0;
  for (const uint64_t count : counts_) sum += count;
  return sum;
}

bool Machine::happens(Event event) {
  if (!watched_) return false;
  counts_[static_cast<int>(event)]++;
  if (watcher) {
    watched_ = false;
    Machine* const before = std::exchange(current, nullptr);
    watcher(event);
    current = before;
    watched_ = true;
  }
  uint64_t& failing = failing_[static_cast<int>(event)];
  return failing > 0 && --failing == 0;
}

std::shared_ptr<Machine::File> Machine::file(const std::string& name, Medium& medium) {
  std::shared_ptr<File>& file = files_[name];
  if (file != nullptr) return file;
  auto mapping = medium.open(name, true);
  PMIO_ASSERT(mapping.ok());
  file = std::make_shared<File>();
  file->mapping = std::move(mapping).value();
  const std::span<const std::byte> live(file->mapping->data(), file->mapping->size_bytes());
  file->shadow = std::make_unique<Shadow>(live);
  return file;
}

void Machine::removed(const std::string& name) {
  const auto found = files_.find(name);
  if (found == files_.end()) return;
  undone_removals_[name] = std::move(found->second);
  files_.erase(found);
}

bool Machine::is_target(int fd) const { return same_inode(fd, target_); }
bool Machine::is_directory(int fd) const { return same_inode(fd, directory_); }

void Machine::wrote(int, const void* data, size_t length, off_t offset) {
  const auto* from = static_cast<const std::byte*>(data);
  unsynced_.push_back({static_cast<size_t>(offset), Bytes(from, from + length), false});
}

void Machine::truncated(int, off_t size) { unsynced_.push_back({static_cast<size_t>(size), {}, true}); }

void Machine::target_synced() {
  if (target_sync_swallowed) return;
  unsynced_.clear();
  durable_target_ = read_bytes(target_);
  if (on_target_synced) on_target_synced();
}

Bytes Machine::target_after(Failure failure, Fate fate, std::mt19937_64& random) const {
  if (failure == Failure::process_death || fate == Fate::persist) return read_bytes(target_);
  Bytes bytes = durable_target_;
  if (fate == Fate::vanish) return bytes;
  for (const Write& write : unsynced_) {
    if (write.truncation) {
      if (random() % 2 == 0) bytes.resize(write.offset);
      continue;
    }
    for (size_t done = 0; done < write.bytes.size();) {
      const size_t at = write.offset + done;
      const size_t step = std::min(kSector - at % kSector, write.bytes.size() - done);
      if (random() % 2 == 0) put(bytes, at, write.bytes.data() + done, step);
      done += step;
    }
  }
  return bytes;
}

Image Machine::image(Failure failure, Fate fate, uint64_t seed) {
  std::mt19937_64 random(seed);
  Image image;
  for (auto& [name, file] : files_) {
    file->shadow->observe();
    if (failure == Failure::power_loss && !file->lasting && fate != Fate::persist && random() % 2 == 0)
      continue;
    image.files[name] = failure == Failure::process_death ? file->shadow->stored()
                                                          : file->shadow->after_power_failure(fate, random);
  }
  for (auto& [name, file] : undone_removals_) {
    const bool undone = fate == Fate::vanish || (fate != Fate::persist && random() % 2 == 0);
    if (failure == Failure::power_loss && undone && image.files.count(name) == 0)
      image.files[name] = file->shadow->after_power_failure(fate, random);
  }
  if (failure == Failure::power_loss) start_anew(&image);
  image.target_time = modified(target_);
  image.target = target_after(failure, fate, random);
  return image;
}

Bytes read_bytes(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts;
  if (!file.ok() || fstat(file.get(), &facts) != 0) throw std::runtime_error("cannot read " + path);
  Bytes bytes(static_cast<size_t>(facts.st_size));
  if (pread(file.get(), bytes.data(), bytes.size(), 0) != facts.st_size)
    throw std::runtime_error("cannot read " + path);
  return bytes;
}

void write_bytes(const std::string& path, const Bytes& bytes) {
  constexpr size_t kBlock = 4096;
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  bool ok = file.ok() && real_ftruncate(file.get(), static_cast<off_t>(bytes.size())) == 0;
  // Blocks of zeros stay holes: most of a segment is empty.
  for (size_t at = 0; ok && at < bytes.size(); at += kBlock) {
    const std::span block(bytes.data() + at, std::min(kBlock, bytes.size() - at));
    if (all_zero(block)) continue;
    ok = real_pwrite(file.get(), block.data(), block.size(), static_cast<off_t>(at)) ==
         static_cast<ssize_t>(block.size());
  }
  if (!ok) throw std::runtime_error("cannot write " + path);
}

timespec modified(const std::string& path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0) throw std::runtime_error("cannot examine " + path);
  return facts.st_mtim;
}

void set_modified(const std::string& path, const timespec& time) {
  const timespec times[2] = {time, time};
  if (utimensat(AT_FDCWD, path.c_str(), times, 0) != 0) throw std::runtime_error("cannot date " + path);
}

void write_image(const Image& image, const std::string& directory, const std::string& job) {
  std::filesystem::remove_all(directory);
  const std::string path = directory + "/" + job;
  std::filesystem::create_directories(path);
  for (const std::string& made : {directory, path})
    std::filesystem::permissions(made, std::filesystem::perms::owner_all);
  write_bytes(path + "/alive", {});
  for (const auto& [name, bytes] : image.files) write_bytes(path + "/" + name, bytes);
}

}  // namespace pmio::fault
