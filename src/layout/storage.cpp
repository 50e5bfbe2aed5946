#include "layout/storage.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <optional>

#include "base/file_system.h"

namespace pmio {
namespace {

class OpenStorage : public Storage {
 public:
  explicit OpenStorage(int fd) : fd_(fd) {}

  const std::string& file_system() const override {
    if (!file_system_) file_system_ = file_system_of(fd_);
    return *file_system_;
  }
  std::string attribute(const char* name) const override {
    std::string value(kMostAttributeBytes, '\0');
    const ssize_t bytes = fgetxattr(fd_, name, value.data(), value.size());
    value.resize(bytes < 0 ? 0 : static_cast<size_t>(bytes));
    return value;
  }
  bool set_attribute(const char* name, std::string_view value) override {
    return fsetxattr(fd_, name, value.data(), value.size(), 0) == 0;
  }
  bool control(unsigned long request, void* argument) const override {
    return ioctl(fd_, request, argument) == 0;
  }
  std::unique_ptr<Storage> create(const char* name, int flags) override;

 private:
  static constexpr size_t kMostAttributeBytes = 64 << 10;  // XATTR_SIZE_MAX
  int fd_;
  mutable std::optional<std::string> file_system_;
};

class OwnedStorage final : public OpenStorage {
 public:
  explicit OwnedStorage(int fd) : OpenStorage(fd), fd_(fd) {}
  ~OwnedStorage() override { close(fd_); }
  OwnedStorage(const OwnedStorage&) = delete;
  OwnedStorage& operator=(const OwnedStorage&) = delete;

 private:
  int fd_;
};

std::unique_ptr<Storage> OpenStorage::create(const char* name, int flags) {
  const int made = openat(fd_, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | flags, 0666);
  if (made < 0) return nullptr;
  return std::make_unique<OwnedStorage>(made);
}

}  // namespace

std::unique_ptr<Storage> storage_of(int fd) { return std::make_unique<OpenStorage>(fd); }

}  // namespace pmio
