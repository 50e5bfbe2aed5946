// Which jobs of a user have logs on this node, and where. So what a killed job left is found without knowing
// its log directory, after a reboot too.
//
//   $PMIO_REGISTRY or /var/tmp / pmio-jobs-<uid> / job-<id>     one line: the log directory that has job-<id>
//
// The user's directory is used only if it is of mode 0700, the user's own, and no symbolic link. A job adds
// itself when its directory is made, and removes itself when that goes; a job that is killed stays. An entry
// is a hint, not a promise: whoever reads it looks into the log directory. Threads: values, no sharing.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "medium/directory.h"

namespace pmio {

// Without a trailing slash.
std::string registry_root();

class Registry {
 public:
  // The effective user's registry; it is created if it is missing.
  static Result<Registry> create();
  // The same if there is one; else an error with system_errno ENOENT.
  static Result<Registry> find();

  // An entry that is there already stays. durable: on return the entry survives a power failure.
  Status add(uint64_t job, const std::string& log_directory, bool durable) const;
  Status remove(uint64_t job) const;
  std::string path_of(uint64_t job) const;

  struct Entry {
    uint64_t job;
    std::string log_directory;  // absolute
  };
  // Leaves out whatever is not a whole entry of this user.
  Result<std::vector<Entry>> list() const;

 private:
  explicit Registry(Directory directory) : directory_(std::move(directory)) {}
  Directory directory_;
};

// The users who have a registry of their own on this node, ascending.
std::vector<uid_t> registered_users();

}  // namespace pmio
