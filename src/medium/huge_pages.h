// Which files of a tmpfs consist of huge pages. Their first touch costs a tenth of that of 4 KiB pages
// (decision 27).
//
// Threads: any.
#pragma once

#include <cstddef>
#include <string_view>

namespace pmio {

enum class HugePages {
  none,
  advise,       // if the mapping by which a page is touched first asks for them
  within_size,  // as far as the file's size fills them
  always        // of whatever size: a file of one byte takes a whole one
};

constexpr size_t kHugePageBytes = 2 << 20;

// By the option huge= of the mount and what the system's shmem_enabled says of all mounts.
HugePages huge_pages(std::string_view mount_options, std::string_view shmem_enabled);
// Of the tmpfs that an open directory is on.
HugePages huge_pages_of(int directory);

const char* huge_pages_name(HugePages huge);

}  // namespace pmio
