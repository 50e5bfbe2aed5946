// The one error type. No exception leaves a pmio function; every function that can fail returns Status or
// Result<T>.
//
// A message says what failed, of which file, and what the user can do. Only src/mpi translates errors to MPI
// error classes. Threads: values, no sharing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace pmio {

enum class Code {
  ok,
  corrupt,      // bytes on a medium that fail validation
  unsupported,  // a format version, file system or datatype that this build cannot serve
  no_space,     // ENOSPC
  quota,        // EDQUOT
  io,           // any other failing system call
  invalid,      // a bad argument, hint or option
  busy,         // somebody else holds it; try again
  access,       // EACCES, EPERM, EROFS, or an object of another owner
};

const char* code_name(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  Status(Code code, std::string message, int system_errno = 0)
      : error_(std::make_unique<Error>(Error{code, system_errno, std::move(message)})) {}
  Status(const Status& other) : error_(other.error_ ? std::make_unique<Error>(*other.error_) : nullptr) {}
  Status(Status&& other) noexcept = default;
  Status& operator=(Status other) noexcept {
    error_.swap(other.error_);
    return *this;
  }
  ~Status() = default;

  // Maps an errno to its Code; the message becomes "<what>: <strerror>".
  static Status from_errno(int system_errno, const std::string& what);

  bool ok() const { return error_ == nullptr; }
  Code code() const { return ok() ? Code::ok : error_->code; }
  int system_errno() const { return ok() ? 0 : error_->system_errno; }  // 0: no system call was involved
  std::string message() const { return ok() ? std::string() : error_->message; }

 private:
  struct Error {
    Code code;
    int system_errno;
    std::string message;
  };
  std::unique_ptr<Error> error_;  // null: ok; that costs a hot path next to nothing
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  T& operator*() { return *value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

// Asserts what only a programmer's error can break, in release builds, too. Bytes from a medium or a user are
// validated instead.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);
#define PMIO_ASSERT(expression) \
  ((expression) ? static_cast<void>(0) : ::pmio::assertion_failed(#expression, __FILE__, __LINE__))

#define PMIO_TRY(expression)                                                           \
  do {                                                                                 \
    if (::pmio::Status try_status = (expression); !try_status.ok()) return try_status; \
  } while (0)

}  // namespace pmio
