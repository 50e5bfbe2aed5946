#include "stats/file_statistics.h"

namespace pmio {

void FileNumbers::add(const FileNumbers& other) {
#define PMIO_ADD(name) name += other.name;
  PMIO_FILE_NUMBERS(PMIO_ADD)
#undef PMIO_ADD
}

FileStatistics& FileStatistics::of_process() {
  static FileStatistics& all = *new FileStatistics;
  return all;
}

FileStatistics::Entry& FileStatistics::entry(std::string_view path) {
  const auto known = entries_.find(path);
  if (known != entries_.end()) return known->second;
  return entries_.size() < kMost ? entries_[std::string(path)] : entries_[std::string()];
}

void FileStatistics::describe(std::string_view path, Facts facts) {
  const LockGuard lock(mutex_);
  Facts& known = entry(path).facts;
  // A file may be opened by one engine and then by another.
  if (!known.engine.empty() && (", " + known.engine).ends_with(", " + facts.engine)) facts.engine.clear();
  const std::string before = known.engine;
  const std::string separator = before.empty() || facts.engine.empty() ? "" : ", ";
  facts.engine = before + separator + facts.engine;
  known = std::move(facts);
}

void FileStatistics::add(std::string_view path, const FileNumbers& numbers) {
  const LockGuard lock(mutex_);
  entry(path).numbers.add(numbers);
}

void FileStatistics::add_servers(std::string_view path, const std::vector<uint64_t>& bytes) {
  const LockGuard lock(mutex_);
  std::vector<uint64_t>& all = entry(path).server_bytes;
  if (all.size() < bytes.size()) all.resize(bytes.size());
  for (size_t i = 0; i < bytes.size(); i++) all[i] += bytes[i];
}

std::map<std::string, FileStatistics::Entry> FileStatistics::entries() const {
  const LockGuard lock(mutex_);
  return {entries_.begin(), entries_.end()};
}

}  // namespace pmio
