#include "cli/run/runtimes.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace pmio::cli {

namespace fs = std::filesystem;

std::string executable_directory() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? std::string() : self.parent_path().string();
}

static Runtime runtime_of(const nlohmann::json& entry, const fs::path& directory) {
  Runtime runtime;
  runtime.tag = entry.at("tag");
  runtime.family = entry.at("family");
  runtime.version = entry.at("version");
  runtime.library = entry.at("library");
  runtime.prefix = entry.at("prefix");
  runtime.path = (directory / entry.at("runtime").get<std::string>()).string();
  runtime.present = access(runtime.path.c_str(), R_OK) == 0;
  return runtime;
}

// Installed, the libraries have a directory of their own below <prefix>; in the build tree they are in lib.
static fs::path find_map() {
  const fs::path command = executable_directory();
  const fs::path installed = (command / PMIO_INSTALLED_RUNTIMES / "pmio-mpi.json").lexically_normal();
  const fs::path built = (command / "../lib/pmio-mpi.json").lexically_normal();
  std::error_code error;
  return fs::exists(installed, error) ? installed : built;
}

std::string preloaded_library() {
  const std::string path = (find_map().parent_path() / "libpmio.so").string();
  return access(path.c_str(), R_OK) == 0 ? path : std::string();
}

Result<std::vector<Runtime>> load_runtimes() {
  const fs::path map = find_map();
  const fs::path directory = map.parent_path();
  std::ifstream input(map);
  if (!input)
    return Status(Code::io, "cannot read " + map.string() + ": is pmio completely built or installed?");
  std::vector<Runtime> runtimes;
  try {
    for (const auto& entry : nlohmann::json::parse(input)) runtimes.push_back(runtime_of(entry, directory));
  } catch (const nlohmann::json::exception& error) {
    return Status(Code::corrupt, map.string() + ": " + error.what());
  }
  return runtimes;
}

std::string list_tags(const std::vector<Runtime>& runtimes) {
  std::string tags;
  for (const Runtime& runtime : runtimes) {
    if (runtime.present) tags += (tags.empty() ? "" : ", ") + runtime.tag;
  }
  return tags.empty() ? "none" : tags;
}

}  // namespace pmio::cli
