// The system calls by which pmio changes files without a Medium, wrapped by the linker (--wrap) so that the
// running Machine learns of them. The real ones, for who must not be seen.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace pmio::fault {

ssize_t real_pwrite(int fd, const void* data, size_t length, off_t offset);
int real_ftruncate(int fd, off_t size);

}  // namespace pmio::fault
