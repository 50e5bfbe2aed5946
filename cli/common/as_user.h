// Root acting for a user: a child process that is nothing but that user. The user, or somebody in the user's
// directories, may have prepared links and paths. The kernel lets the child do no more than the user may.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "base/status.h"

namespace pmio::cli {

// Runs work as user, with the user's group and supplementary groups, and returns its exit code. Runs it here
// and now where this process is that user already. access: not root, or the user has no account on this node.
Result<int> as_user(uid_t user, const std::function<int()>& work);

// Root as the owner of that directory; everybody else, and where there is none, here and now.
Result<int> as_owner_of(const std::string& directory, const std::function<int()>& work);
// The same; an error is said, and the exit code is then `failed`.
int run_as_owner_of(const std::string& directory, const std::function<int()>& work, int failed);

}  // namespace pmio::cli
