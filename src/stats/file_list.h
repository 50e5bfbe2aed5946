// Which files were opened through MPI-IO, and why some of them were not logged. There is a list of a process
// while it runs, and one of all ranks together for the report at the end.
//
// A file that was logged and then handed on counts as not logged. kMost names are kept. The others are
// counted, as often as they were opened. Threads: any for add; one at a time for the rest.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/mutex.h"

namespace pmio {

class FileList {
 public:
  static constexpr size_t kMost = 1000;

  FileList() = default;
  FileList(const FileList& other) : reasons_(other.reasons_), more_(other.more_) {}

  // reason: in a few words, why the file is not logged; empty: it is logged. The first reason counts.
  void add(std::string_view path, std::string_view reason);
  void add(const FileList& other);
  // By path.
  const std::map<std::string, std::string, std::less<>>& reasons() const { return reasons_; }
  uint64_t more() const { return more_; }

  // "3 files logged, 1 not: x.dat (atomic mode)"; several lines if that is too long for one of `columns`.
  std::string told(size_t columns) const;

  // As a text that another rank can read.
  std::string packed() const;
  static FileList unpack(std::string_view text);

 private:
  Mutex mutex_;  // of add alone
  std::map<std::string, std::string, std::less<>> reasons_;
  uint64_t more_ = 0;
};

}  // namespace pmio
