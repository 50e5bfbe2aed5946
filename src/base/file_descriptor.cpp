#include "base/file_descriptor.h"

#include <fcntl.h>
#include <sys/select.h>

#include <cerrno>

#include "base/single_threaded.h"

namespace pmio {

FileDescriptor out_of_the_way(FileDescriptor low) {
  if (!low.ok() || low.get() >= FD_SETSIZE) return low;
  const int saved = errno;
  FileDescriptor high(fcntl(low.get(), F_DUPFD_CLOEXEC, FD_SETSIZE));
  errno = saved;
  return high.ok() ? std::move(high) : std::move(low);
}

void make_way_if_alone() {
  if (!is_single_threaded()) return;
  const int saved = errno;
  const FileDescriptor high = out_of_the_way(FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)));
  errno = saved;
}

}  // namespace pmio
