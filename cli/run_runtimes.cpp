#include "run_runtimes.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#ifndef PMIO_RELATIVE_LIBDIR
#define PMIO_RELATIVE_LIBDIR "../lib"
#endif

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

Result<std::vector<Runtime>> load_runtimes() {
  const fs::path directory = (fs::path(executable_directory()) / PMIO_RELATIVE_LIBDIR).lexically_normal();
  const fs::path map = directory / "pmio-mpi.json";
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
