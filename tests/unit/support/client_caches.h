// Clients of a network file system, one per node of the test, each with pages of its own. What another node
// writes a client learns when the file is opened there, and not before: until then it serves what it has, as
// MooseFS's does. A page comes whole, and stays until it is dropped.
//
// A file belongs to the client of the node that opens it below `mount`, or opens it once more.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "support/system_calls.h"

namespace pmio::test {

class ClientCaches {
 public:
  static constexpr int kNone = -1;
  static constexpr uint64_t kPage = 4096;
  static ClientCaches& instance() {
    static ClientCaches one;
    return one;
  }
  // The node for which this thread opens files by their names.
  static inline thread_local int opening = kNone;

  void mount(const std::string& directory) {
    const std::lock_guard lock(mutex_);
    mount_ = directory;
    node_of_.clear();
    nodes_.clear();
    fetched_ = 0;
  }
  uint64_t fetched() const { return fetched_; }  // pages, by all nodes

  void opened(int fd, const char* path) {
    const std::lock_guard lock(mutex_);
    int original = kNone, node = kNone;
    if (std::sscanf(path, "/proc/self/fd/%d", &original) == 1)
      node = node_of(original);
    else if (!mount_.empty() && std::strncmp(path, mount_.c_str(), mount_.size()) == 0)
      node = opening;
    if (node == kNone) return;
    node_of_[fd] = node;
    Node& client = nodes_[node];
    if (client.outdated.erase(inode(fd)) != 0) drop(client, inode(fd), 0, UINT64_MAX);
  }
  void closed(int fd) {
    const std::lock_guard lock(mutex_);
    node_of_.erase(fd);
  }

  ssize_t read(int fd, void* data, size_t length, off_t offset) {
    const std::lock_guard lock(mutex_);
    const int node = node_of(fd);
    if (node == kNone) return syscall(SYS_pread64, fd, data, length, offset);
    struct stat facts {};
    if (fstat(fd, &facts) != 0) return -1;
    auto at = static_cast<uint64_t>(offset);
    const uint64_t end = std::min(at + length, static_cast<uint64_t>(facts.st_size));
    auto* to = static_cast<std::byte*>(data);
    while (at < end) {
      const uint64_t n = std::min(end, at / kPage * kPage + kPage) - at;
      std::memcpy(to, page(nodes_[node], fd, facts.st_ino, at / kPage).data() + at % kPage, n);
      at += n;
      to += n;
    }
    return to - static_cast<std::byte*>(data);
  }
  ssize_t write(int fd, const iovec* parts, int count, off_t offset) {
    const std::lock_guard lock(mutex_);
    const ssize_t written = syscall(SYS_pwritev, fd, parts, count, offset, 0);
    const int node = node_of(fd);
    if (node == kNone || written <= 0) return written;
    auto at = static_cast<uint64_t>(offset);
    auto left = static_cast<uint64_t>(written);
    for (int i = 0; i < count && left > 0; i++) {
      const uint64_t n = std::min<uint64_t>(left, parts[i].iov_len);
      update(nodes_[node], inode(fd), at, static_cast<const std::byte*>(parts[i].iov_base), n);
      at += n;
      left -= n;
    }
    for (auto& [other, client] : nodes_)
      if (other != node) client.outdated.insert(inode(fd));
    return written;
  }
  // Of a length of 0 all to the end.
  void dropped(int fd, uint64_t begin, uint64_t length) {
    const std::lock_guard lock(mutex_);
    const int node = node_of(fd);
    if (node == kNone) return;
    const uint64_t end = length == 0 ? UINT64_MAX : (begin + length) / kPage;
    drop(nodes_[node], inode(fd), (begin + kPage - 1) / kPage, end);
  }

 private:
  using Page = std::array<std::byte, kPage>;
  struct Node {
    std::map<std::pair<ino_t, uint64_t>, Page> pages;
    std::set<ino_t> outdated;  // others have written
  };

  int node_of(int fd) const {
    const auto found = node_of_.find(fd);
    return found == node_of_.end() ? kNone : found->second;
  }
  static ino_t inode(int fd) {
    struct stat facts {};
    return fstat(fd, &facts) == 0 ? facts.st_ino : 0;
  }
  static void drop(Node& client, ino_t file, uint64_t first, uint64_t end) {
    client.pages.erase(client.pages.lower_bound({file, first}), client.pages.lower_bound({file, end}));
  }
  Page& page(Node& client, int fd, ino_t file, uint64_t number) {
    const auto [found, is_new] = client.pages.try_emplace({file, number});
    if (is_new) {
      fetched_++;
      found->second.fill(std::byte{0});
      (void)syscall(SYS_pread64, fd, found->second.data(), kPage, number * kPage);
    }
    return found->second;
  }
  static void update(Node& client, ino_t file, uint64_t at, const std::byte* data, uint64_t length) {
    for (const uint64_t end = at + length; at < end;) {
      const uint64_t n = std::min(end, at / kPage * kPage + kPage) - at;
      const auto cached = client.pages.find({file, at / kPage});
      if (cached != client.pages.end()) std::memcpy(cached->second.data() + at % kPage, data, n);
      at += n;
      data += n;
    }
  }

  std::mutex mutex_;
  std::string mount_;
  std::map<int, int> node_of_;
  std::map<int, Node> nodes_;
  uint64_t fetched_ = 0;
};

inline int open_of_client(const char* path, int flags, mode_t mode) {
  const int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  if (fd >= 0) ClientCaches::instance().opened(fd, path);
  return fd;
}
inline int close_of_client(int fd) {
  ClientCaches::instance().closed(fd);
  return static_cast<int>(syscall(SYS_close, fd));
}
inline ssize_t pread_of_client(int fd, void* data, size_t length, off_t offset) {
  return ClientCaches::instance().read(fd, data, length, offset);
}
inline ssize_t pwrite_of_client(int fd, const void* data, size_t length, off_t offset) {
  const iovec whole{const_cast<void*>(data), length};
  return ClientCaches::instance().write(fd, &whole, 1, offset);
}
inline ssize_t pwritev_of_client(int fd, const iovec* parts, int count, off_t offset) {
  return ClientCaches::instance().write(fd, parts, count, offset);
}
inline int advise_client(int fd, off_t offset, off_t length, int advice) {
  if (advice == POSIX_FADV_DONTNEED)
    ClientCaches::instance().dropped(fd, static_cast<uint64_t>(offset), static_cast<uint64_t>(length));
  return 0;
}

// The clients' system calls: `const StandIn clients(kClientCalls);`
constexpr SystemCalls kClientCalls{.open = open_of_client,
                                   .close = close_of_client,
                                   .pread = pread_of_client,
                                   .pwrite = pwrite_of_client,
                                   .pwritev = pwritev_of_client,
                                   .posix_fadvise = advise_client};

}  // namespace pmio::test
