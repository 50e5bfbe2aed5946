#include "stats/file_list.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace pmio {
namespace {

constexpr size_t kMostTold = 10;  // files that are not logged, by name

std::string name_of(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.empty() ? path : name;
}

std::string files(uint64_t number) { return std::to_string(number) + (number == 1 ? " file" : " files"); }

}  // namespace

void FileList::add(std::string_view path, std::string_view reason) {
  const LockGuard lock(mutex_);
  const auto known = reasons_.find(path);
  if (known != reasons_.end()) {
    if (known->second.empty()) known->second = reason;
  } else if (reasons_.size() < kMost) {
    reasons_.emplace(path, reason);
  } else {
    more_++;
  }
}

void FileList::add(const FileList& other) {
  for (const auto& [path, reason] : other.reasons_) add(path, reason);
  more_ += other.more_;
}

std::string FileList::told(size_t columns) const {
  if (reasons_.empty()) return "no file was opened through MPI-IO";
  std::vector<std::string> others;
  for (const auto& [path, reason] : reasons_)
    if (!reason.empty()) others.push_back(name_of(path) + " (" + reason + ")");
  std::string text =
      files(reasons_.size() - others.size()) + " logged, " + std::to_string(others.size()) + " not";
  if (more_ > 0) text += ", and " + std::to_string(more_) + " more opens";
  if (others.empty()) return text;
  const size_t told = std::min(others.size(), kMostTold);
  std::string line = text + ": ", lines = text + ":";
  for (size_t i = 0; i < told; i++) {
    line += (i > 0 ? ", " : "") + others[i];
    lines += "\n  " + others[i];
  }
  if (told < others.size()) lines += "\n  and " + std::to_string(others.size() - told) + " more";
  return told == others.size() && line.size() <= columns ? line : lines;
}

// Each string comes behind its length and a space, because a name may hold any byte.
std::string FileList::packed() const {
  std::string text = std::to_string(more_) + " ";
  const auto put = [&text](const std::string& one) { text += std::to_string(one.size()) + " " + one; };
  for (const auto& [path, reason] : reasons_) {
    put(path);
    put(reason);
  }
  return text;
}

FileList FileList::unpack(std::string_view text) {
  FileList list;
  const auto number = [&text]() -> uint64_t {
    uint64_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(std::min(static_cast<size_t>(parsed.ptr - text.data()) + 1, text.size()));
    return value;
  };
  const auto string = [&text, &number] {
    const uint64_t length = number();
    std::string one(text.substr(0, length));
    text.remove_prefix(one.size());
    return one;
  };
  list.more_ = number();
  while (!text.empty()) {
    const std::string path = string();
    list.add(path, string());
  }
  return list;
}

}  // namespace pmio
