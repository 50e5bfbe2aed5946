#include "mpi/names.h"

#include <strings.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace pmio {
namespace {

// The prefixes that some version of ROMIO knows: they say how to open the rest of the name. Any other word
// before a colon is an error for old versions, and a part of the name for new ones.
constexpr std::string_view kPrefixes[] = {"ufs",    "nfs",  "xfs",    "pvfs2", "gpfs",   "panfs",
                                          "lustre", "daos", "testfs", "ime",   "quobyte"};

}  // namespace

std::string without_prefix(const std::string& name) {
  const size_t colon = std::min(name.find(':'), name.size());
  const std::string_view word = std::string_view(name).substr(0, colon);
  const auto is_known = [word](std::string_view prefix) {
    return word.size() == prefix.size() && strncasecmp(word.data(), prefix.data(), word.size()) == 0;
  };
  if (colon == name.size()) return name;
  std::string rest = name.substr(colon + 1);
  const auto* known = std::find_if(std::begin(kPrefixes), std::end(kPrefixes), is_known);
  struct stat facts {};
  const bool is_name = stat(name.c_str(), &facts) == 0, is_rest = stat(rest.c_str(), &facts) == 0;
  // Some library may know a prefix that the others do not.
  if (known == std::end(kPrefixes)) return is_name || !is_rest ? name : rest;
#ifndef OPEN_MPI
  if (word == *known) return rest;
#endif
  if (!is_name) return rest;
  return is_rest ? std::string() : name;
}

std::string absolute_path(const std::string& filename) {
  const std::string name = without_prefix(filename);
  if (name.empty()) return {};
  const size_t slash = name.rfind('/');
  // Without a slash at its end, which would cost one more look-up in the file system.
  const std::string directory = slash == std::string::npos ? "." : name.substr(0, std::max<size_t>(slash, 1));
  char* resolved = realpath(directory.c_str(), nullptr);
  if (resolved == nullptr) return {};
  std::string path(resolved);
  std::free(resolved);
  if (path.back() != '/') path += '/';
  return path + (slash == std::string::npos ? name : name.substr(slash + 1));
}

bool is_only_name(const std::string& path) {
  struct stat facts {};
  return lstat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_nlink == 1;
}

std::optional<FileIdentity> identity_at(const std::string& path) {
  const Result<FileIdentity> identity = identity_of(path);
  return identity.ok() ? std::optional(identity.value()) : std::nullopt;
}

}  // namespace pmio
