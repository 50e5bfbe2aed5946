// The directory of a medium. Every file operation goes through its descriptor, with O_NOFOLLOW: nobody who
// can write to a parent directory can redirect a log. Threads: immutable when it is open.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "medium/huge_pages.h"

namespace pmio {

// Makes the names in a directory durable; path is relative to the open directory `at`. Returns an errno, or
// 0. It is 0, too, if the directory may be passed through but not read: what it holds is its owner's affair.
// So it is on file systems that have no fsync of directories.
int sync_directory(int at, const char* path);

class Directory {
 public:
  // Opens path. If it is missing, it is created, with mode 0700, but not its parents.
  // access: it is a symbolic link, another owner's, or open to others.
  static Result<Directory> open(const std::string& path);
  // What its files consist of, if that is memory. Before the first one is made.
  void set_huge_pages(HugePages huge) { huge_ = huge; }

  // A new file of size_bytes, reserved. One that is smaller than a huge page consists of none. If the file
  // system knows O_TMPFILE, the file appears under its name only when it is complete. After an error no file
  // is left. A taken name is Code::io with system_errno EEXIST.
  Result<FileDescriptor> create_file(std::string_view name, size_t size_bytes) const;
  struct OpenedFile {
    FileDescriptor fd;
    size_t size_bytes;
  };
  // corrupt: it is empty; access: it is not a regular file of this user; system_errno ENOENT: it is missing.
  Result<OpenedFile> open_file(std::string_view name, bool read_only) const;
  // Makes a hole of the whole file, and reserves anew what create_file had reserved.
  Status vacate_file(std::string_view name) const;
  Status reserve_file(const FileDescriptor& file, std::string_view name, size_t size_bytes) const;
  Status remove_file(std::string_view name) const;
  Status rename_file(std::string_view from, std::string_view to) const;  // to a name that is not there
  Result<std::vector<std::string>> list() const;
  // Makes durable the names that were created so far.
  Status sync() const;
  // Makes the directory's own name durable, in the directory above it, if this open has created it.
  Status sync_new_name() const;

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }

 private:
  std::string path_;
  bool created_ = false;
  FileDescriptor fd_;
  HugePages huge_ = HugePages::none;
};

}  // namespace pmio
