// Which jobs of a user have logs on this node, and where: so that what a killed job left is found by somebody
// who does not know its log directory, after a reboot too.
//
//   $PMIO_REGISTRY or /var/tmp / pmio-jobs-<uid> / job-<id>     one line: the log directory that job-<id> is
//   in
//
// The user's directory is 0700, the user's own, and no symbolic link, or it is not used. A job adds itself
// when its directory is made and removes itself when that goes; a job that is killed stays. An entry is a
// hint, not a promise: whoever reads it looks into the log directory. Threads: values, no sharing.
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
  // The effective user's, created where it is missing.
  static Result<Registry> create();
  // The same, where there is one; system_errno ENOENT else.
  static Result<Registry> find();

  // A name that is there already stays. durable: survives a power failure on return.
  Status add(uint64_t job, const std::string& log_directory, bool durable) const;
  Status remove(uint64_t job) const;
  std::string path_of(uint64_t job) const;

  struct Entry {
    uint64_t job;
    std::string log_directory;  // absolute
  };
  // Whatever is not a whole entry of this user is left out.
  Result<std::vector<Entry>> list() const;

 private:
  explicit Registry(Directory directory) : directory_(std::move(directory)) {}
  Directory directory_;
};

// The users who have a registry on this node that is their own, ascending.
std::vector<uid_t> registered_users();

}  // namespace pmio
