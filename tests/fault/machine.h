// A machine that can fail: the files of one directory on a fault-injecting medium and one target file, what
// of them would survive a crash at this moment, and the faults that are asked for.
//
// Every step that matters to what survives is an event: a store, flush, fence or sync of a Region, making and
// removing a file, a write to the target and its fdatasync. The watcher is called at each, before it takes
// effect; stores and writes have one more in their middle. There the watcher may ask for the image of a crash
// and recover it: nothing that it does is itself watched. So one run of a history visits every crash point.
//
// Threads: one.
#pragma once

#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "medium/medium.h"
#include "shadow.h"

namespace pmio::fault {

using Bytes = std::vector<std::byte>;

enum class Event { store, flush, fence, sync, create, remove, write, write_sync };
constexpr int kEvents = 8;
const char* event_name(Event event);

enum class Failure {
  process_death,  // whatever was stored is there, up to the middle of a store
  power_loss,     // what no fence, sync or fdatasync covered is subject to a Fate
};

struct Image {
  std::map<std::string, Bytes> files;
  Bytes target;
  timespec target_time{};  // of its modification
};

class Machine {
 public:
  using Watcher = std::function<void(Event)>;

  Machine() = default;
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // From here on the system calls of this process on this directory and file are this machine's. Their
  // present contents are persistent.
  void start(const std::string& directory, const std::string& target);
  void stop();
  // Opens a FaultMedium on a directory; what the runtime and recovery are given in place of open_medium.
  MediumOpener opener(MediumKind kind, Durability durability);

  Watcher watcher;
  std::function<void()> on_target_synced;
  bool target_sync_swallowed = false;  // fdatasync of the target does nothing, and says that it did
  // The event of this kind that will fail, once: 1 is the next one.
  void fail(Event event, uint64_t number) { failing_[static_cast<int>(event)] = number; }
  bool fails_later(Event event) const { return failing_[static_cast<int>(event)] > 0; }
  uint64_t count(Event event) const { return counts_[static_cast<int>(event)]; }
  uint64_t events() const;

  // What a crash now would leave.
  Image image(Failure failure, Fate fate, uint64_t seed);

  // The rest is for FaultMedium and the wrapped system calls.
  static Machine* running();
  // Calls the watcher. True: this event is to fail.
  bool happens(Event event);
  struct File {
    std::unique_ptr<Region> mapping;
    std::unique_ptr<Shadow> shadow;
    bool lasting = true;  // else a power failure may take all of it
  };
  std::shared_ptr<File> file(const std::string& name, Medium& medium);
  void removed(const std::string& name);
  void names_synced() { undone_removals_.clear(); }
  bool is_target(int fd) const;
  bool is_directory(int fd) const;
  void wrote(int fd, const void* data, size_t length, off_t offset);
  void truncated(int fd, off_t size);
  void target_synced();

 private:
  struct Write {
    size_t offset;
    Bytes bytes;
    bool truncation;  // to offset
  };
  Bytes target_after(Failure failure, Fate fate, std::mt19937_64& random) const;

  std::string directory_, target_;
  std::unique_ptr<Medium> real_;
  std::map<std::string, std::shared_ptr<File>> files_;
  std::map<std::string, std::shared_ptr<File>>
      undone_removals_;  // removed, but the directory is not synced yet
  Bytes durable_target_;
  std::vector<Write> unsynced_;
  bool watched_ = false;
  uint64_t counts_[kEvents]{};
  uint64_t failing_[kEvents]{};
};

// Whole files, past the wrapped system calls.
Bytes read_bytes(const std::string& path);
void write_bytes(const std::string& path, const Bytes& bytes);  // keeps the inode of an existing file
timespec modified(const std::string& path);
void set_modified(const std::string& path, const timespec& time);
// Makes `directory` a log directory with this one job in it.
void write_image(const Image& image, const std::string& directory, const std::string& job);

}  // namespace pmio::fault
