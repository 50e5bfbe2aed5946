#include "base/cgroup.h"

#include <algorithm>
#include <charconv>

namespace pmio {
namespace {

// Takes what is before the first separator off the text.
std::string_view take(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty())
    if (take(list, ',') == word) return true;
  return false;
}

std::optional<uint64_t> number(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// proc(5): a space, for example, is \040.
std::string unescaped(std::string_view text) {
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string plain;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '\\' && i + 3 < text.size() && octal(text[i + 1]) && octal(text[i + 2]) &&
        octal(text[i + 3])) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool is_absolute(std::string_view path) { return path.starts_with('/'); }

}  // namespace

CgroupPaths cgroup_paths(std::string_view proc_cgroup) {
  CgroupPaths paths;
  while (!proc_cgroup.empty()) {
    std::string_view line = take(proc_cgroup, '\n');
    const std::string_view hierarchy = take(line, ':'), controllers = take(line, ':');
    if (!is_absolute(line)) continue;
    if (hierarchy == "0" && controllers.empty()) paths.unified = std::string(line);
    if (has_word(controllers, "memory")) paths.memory = std::string(line);
  }
  return paths;
}

std::vector<CgroupMount> cgroup_mounts(std::string_view mountinfo) {
  std::vector<CgroupMount> mounts;
  while (!mountinfo.empty()) {
    std::string_view line = take(mountinfo, '\n');
    const size_t behind = line.find(" - ");
    if (behind == line.npos) continue;
    std::string_view rest = line.substr(behind + 3);
    const std::string_view type = take(rest, ' ');
    (void)take(rest, ' ');  // the source, which is any word
    const bool unified = type == "cgroup2";
    if (!unified && (type != "cgroup" || !has_word(rest, "memory"))) continue;
    for (int i = 0; i < 3; i++) (void)take(line, ' ');
    CgroupMount mount{unified, unescaped(take(line, ' ')), {}};
    mount.point = unescaped(take(line, ' '));
    if (is_absolute(mount.root) && is_absolute(mount.point)) mounts.push_back(std::move(mount));
  }
  return mounts;
}

static std::string prefix_of(const CgroupMount& mount) { return mount.root == "/" ? "" : mount.root; }

bool cgroup_shown(const CgroupMount& mount, std::string_view path) {
  const std::string root = prefix_of(mount);
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/') &&
         path.find("/..") == path.npos;
}

std::vector<std::string> cgroup_directories(const CgroupMount& mount, std::string_view path) {
  std::string_view relative =
      cgroup_shown(mount, path) ? path.substr(prefix_of(mount).size()) : std::string_view();
  std::vector<std::string> directories;
  for (;;) {
    while (relative.ends_with('/')) relative.remove_suffix(1);
    directories.push_back(mount.point + std::string(relative));
    if (relative.empty()) return directories;
    relative = relative.substr(0, relative.rfind('/'));
  }
}

std::optional<uint64_t> cgroup_limit(std::string_view text) {
  constexpr uint64_t kNoLimit = uint64_t{1} << 60;  // version 1: the largest multiple of a page
  const auto value = number(text);
  return value && *value < kNoLimit ? value : std::nullopt;
}

std::optional<uint64_t> cgroup_stat(std::string_view memory_stat, std::string_view key) {
  while (!memory_stat.empty()) {
    std::string_view line = take(memory_stat, '\n');
    if (take(line, ' ') == key) return number(line);
  }
  return std::nullopt;
}

uint64_t cgroup_reclaimable(std::string_view memory_stat, bool unified) {
  const auto sum = [&](std::initializer_list<std::string_view> keys) {
    uint64_t all = 0;
    for (const std::string_view key : keys) all += cgroup_stat(memory_stat, key).value_or(0);
    return all;
  };
  // "total_": with the groups below.
  const uint64_t of_files =
      unified ? sum({"active_file", "inactive_file"}) : sum({"total_active_file", "total_inactive_file"});
  const uint64_t unwritten =
      unified ? sum({"file_dirty", "file_writeback"}) : sum({"total_dirty", "total_writeback"});
  return of_files - std::min(of_files, unwritten);
}

}  // namespace pmio
