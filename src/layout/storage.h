// What layout providers ask of an open file or directory, and do to it. Tests put a fake in its place.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pmio {

class Storage {
 public:
  virtual ~Storage() = default;
  // As file_system_of (base/file_system.h); asked for once.
  virtual const std::string& file_system() const = 0;
  // Of an extended attribute. Empty: there is none, or it may not be read.
  virtual std::string attribute(const char* name) const = 0;
  virtual bool set_attribute(const char* name, std::string_view value) = 0;
  // An ioctl. False: it failed.
  virtual bool control(unsigned long request, void* argument) const = 0;
  // Makes a file in this directory, opened for writing with these flags too. Null: it could not be made, or
  // was there already.
  virtual std::unique_ptr<Storage> create(const char* name, int flags) = 0;
};

// fd stays the caller's, and open for as long.
std::unique_ptr<Storage> storage_of(int fd);

}  // namespace pmio
