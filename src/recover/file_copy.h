// A copy of a file that gets what a log holds, while the file itself is left alone.
//
// It is written under another name, <path>.pmio-part, and gets its own name when it is complete and durable.
// So a file under `path` is whole. Holes stay holes. Threads: one.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "drain/target.h"

namespace pmio {

class FileCopy {
 public:
  explicit FileCopy(std::string path) : path_(std::move(path)), part_(path_ + ".pmio-part") {}
  ~FileCopy();  // removes a copy that is not finished
  FileCopy(FileCopy&& other) = delete;

  // The copy, to be written; the first call makes it. original: if it is null, the copy is empty. Errors:
  // access: there is a file of that name, which is left alone; busy: the copy was abandoned; else as of open,
  // read and write.
  Result<TargetFile*> open(TargetFile* original);
  bool begun() const { return target_ != nullptr; }
  // Removes the copy, because it is not what it should be.
  void abandon();
  // On return the copy is durable under its name. Does nothing if it has not been begun.
  Status finish();

 private:
  const std::string path_, part_;
  std::unique_ptr<TargetFile> target_;
  bool finished_ = false;
  bool abandoned_ = false;
};

}  // namespace pmio
