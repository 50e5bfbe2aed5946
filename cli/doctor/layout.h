// What `pmio doctor --file` says of a file's layout, without the hints that a program would give.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "layout/provider.h"

namespace pmio::cli {

struct FileLayout {
  std::string path, file_system;
  FoundLayout found;
};

// io, access: the file cannot be opened for reading.
Result<FileLayout> look_at_layout(const std::string& path);
std::vector<std::string> lines_of(const FileLayout& file);  // for people
nlohmann::ordered_json json_of(const FileLayout& file);

}  // namespace pmio::cli
