// A copy of a file, made to get what a log holds, while the file itself is left alone.
//
// It is written under another name, <path>.pmio-part, and gets its own when it is complete and durable: what
// is there under `path` is whole. Holes stay holes. Threads: one.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "drain/target.h"

namespace pmio {

class FileCopy {
 public:
  explicit FileCopy(std::string path) : path_(std::move(path)), part_(path_ + ".pmio-part") {}
  ~FileCopy();  // what is not finished is removed
  FileCopy(FileCopy&& other) = delete;

  // The copy, to be written; made by the first call. original: may be null, then the copy is empty. Errors:
  // access: there is a file of that name, which is left alone; busy: it was abandoned; as of open, read and
  // write.
  Result<TargetFile*> open(TargetFile* original);
  bool begun() const { return target_ != nullptr; }
  // It is not what it should be, and goes.
  void abandon();
  // Durable on return, under its name. Nothing where it has not been begun.
  Status finish();

 private:
  const std::string path_, part_;
  std::unique_ptr<TargetFile> target_;
  bool finished_ = false;
  bool abandoned_ = false;
};

}  // namespace pmio
