#include "hints/site_file.h"

#include <dlfcn.h>
#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "hints/hints.h"

namespace pmio {
namespace {

namespace fs = std::filesystem;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

bool matches_any(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(), [&name](const std::string& pattern) {
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

std::vector<std::string>* list_of(SiteFile& site, std::string_view key) {
  if (key == "programs_off") return &site.programs_off;
  if (key == "file_systems_on") return &site.file_systems_on;
  return key == "file_systems_off" ? &site.file_systems_off : nullptr;
}

Status set_line(SiteFile& site, std::string_view line) {
  const size_t equals = std::min(line.find('='), line.size());
  const std::string_view key = trimmed(line.substr(0, equals));
  const std::string_view value = trimmed(line.substr(std::min(equals + 1, line.size())));
  if (key.empty() || value.empty()) return {Code::invalid, std::string(line) + ": not key = value"};
  if (std::vector<std::string>* const list = list_of(site, key)) {
    std::istringstream words{std::string(value)};
    for (std::string word; words >> word;) list->push_back(word);
    return {};
  }
  const auto known = hint_keys();
  if (std::find(known.begin(), known.end(), key) == known.end()) {
    return {Code::invalid,
            std::string(key) + ": neither a pmio_ hint nor programs_off, file_systems_on, file_systems_off"};
  }
  Hints scratch;
  PMIO_TRY(set_hint(scratch, key, value));
  site.hints.emplace_back(key, value);
  return {};
}

// Of the file that this code is loaded from: the command or a runtime library.
fs::path own_directory() {
  Dl_info own{};
  std::error_code error;
  if (dladdr(reinterpret_cast<const void*>(&own_directory), &own) == 0 || own.dli_fname == nullptr) return {};
  fs::path path = fs::canonical(own.dli_fname, error);
  if (error) path = fs::read_symlink("/proc/self/exe", error);  // the command, whose name is what was typed
  return path.parent_path();
}

// Where the prefix is /usr, what belongs to the machine is in /etc.
std::string beside(const fs::path& directory, const char* way) {
  const std::string path = (directory / way / "pmio.conf").lexically_normal().string();
  return path == "/usr/etc/pmio.conf" ? "/etc/pmio.conf" : path;
}

std::optional<std::string> contents(const std::string& path) {
  std::ifstream input(path);
  if (!input) return std::nullopt;
  std::ostringstream text;
  text << input.rdbuf();
  return text.str();
}

SiteFile read_site_file() {
  const char* const named = std::getenv("PMIO_CONFIG");
  if (named != nullptr && *named != '\0') {
    if (const auto text = contents(named)) return parse_site_file(*text, named);
    SiteFile none;
    none.complaints.push_back(std::string("PMIO_CONFIG: cannot read ") + named + ": " + std::strerror(errno));
    return none;
  }
  const fs::path directory = own_directory();
  for (const char* way : {PMIO_SITE_FROM_LIBRARIES, PMIO_SITE_FROM_COMMAND}) {
    const std::string path = beside(directory, way);
    if (const auto text = contents(path)) return parse_site_file(*text, path);
  }
  return {};
}

}  // namespace

bool SiteFile::allows_file_system(const std::string& name) const {
  if (!file_systems_on.empty() && !matches_any(file_systems_on, name)) return false;
  return !matches_any(file_systems_off, name);
}

bool SiteFile::leaves_alone(const std::string& program) const {
  return matches_any(programs_off, program) ||
         matches_any(programs_off, program.substr(program.rfind('/') + 1));
}

SiteFile parse_site_file(std::string_view text, const std::string& path) {
  SiteFile site;
  site.path = path;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, std::min(end, text.find('#'))));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const Status status = set_line(site, line);
    if (!status.ok())
      site.complaints.push_back(path + ":" + std::to_string(number) + ": " + status.message());
  }
  return site;
}

const SiteFile& site_file() {
  static const SiteFile& site = *new SiteFile(read_site_file());
  return site;
}

}  // namespace pmio
