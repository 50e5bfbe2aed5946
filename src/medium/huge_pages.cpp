#include "medium/huge_pages.h"

#include <string>

#include "base/file_system.h"
#include "base/memory_limits.h"

namespace pmio {

static bool has_word(std::string_view text, std::string_view word, std::string_view separators) {
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(separators), text.size());
    if (text.substr(0, end) == word) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

HugePages huge_pages(std::string_view mount_options, std::string_view shmem_enabled) {
  // What is in force is in brackets. Its other words are of mounts that nobody sees.
  if (has_word(shmem_enabled, "[deny]", " \n")) return HugePages::none;
  if (has_word(shmem_enabled, "[force]", " \n")) return HugePages::always;
  for (const HugePages huge : {HugePages::advise, HugePages::within_size, HugePages::always}) {
    if (has_word(mount_options, std::string("huge=") + huge_pages_name(huge), ",")) return huge;
  }
  return HugePages::none;
}

HugePages huge_pages_of(int directory) {
  const auto enabled = read_system_file("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  const auto mount = mount_of(directory);
  if (!enabled || !mount) return HugePages::none;  // a kernel without huge pages has no such file
  return huge_pages(mount->options, *enabled);
}

const char* huge_pages_name(HugePages huge) {
  switch (huge) {
    case HugePages::none:
      return "never";
    case HugePages::advise:
      return "advise";
    case HugePages::within_size:
      return "within_size";
    case HugePages::always:
      return "always";
  }
  return "unknown";
}

}  // namespace pmio
