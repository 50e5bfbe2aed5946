#include "base/status.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pmio {

const char* code_name(Code code) {
  switch (code) {
    case Code::ok:
      return "ok";
    case Code::corrupt:
      return "corrupt";
    case Code::unsupported:
      return "unsupported";
    case Code::no_space:
      return "no_space";
    case Code::quota:
      return "quota";
    case Code::io:
      return "io";
    case Code::invalid:
      return "invalid";
    case Code::busy:
      return "busy";
    case Code::access:
      return "access";
  }
  return "unknown";
}

static Code code_of(int system_errno) {
  switch (system_errno) {
    case ENOSPC:
      return Code::no_space;
    case EDQUOT:
      return Code::quota;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::access;
    case EINVAL:
      return Code::invalid;
    case EBUSY:
    case EAGAIN:
      return Code::busy;
    default:
      return Code::io;
  }
}

Status Status::from_errno(int system_errno, const std::string& what) {
  return Status(code_of(system_errno), what + ": " + std::strerror(system_errno), system_errno);
}

void assertion_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "pmio: internal error, please report it: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace pmio
