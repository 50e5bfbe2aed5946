#include "layout/provider.h"

#include <fcntl.h>
#include <unistd.h>

#include "layout/providers.h"

namespace pmio {

std::span<const LayoutProvider* const> layout_providers() {
  static const LayoutProvider* const providers[] = {
      &lustre_layouts(),  &ceph_layouts(),      &beegfs_layouts(), &orangefs_layouts(),
      &moosefs_layouts(), &glusterfs_layouts(), &hinted_layouts()};
  return providers;
}

FoundLayout find_layout(const Storage& file, const LayoutHints& hints,
                        std::span<const LayoutProvider* const> providers) {
  for (const LayoutProvider* provider : providers) {
    std::optional<Layout> layout = provider->find(file, hints);
    if (layout && layout->valid()) return {std::move(*layout), provider->name()};
  }
  return {};
}

static bool asks_for_layout(const LayoutHints& hints) {
  return hints.striping_unit != 0 || hints.striping_factor != 0;
}

bool create_with_layout(Storage& directory, const char* name, const LayoutHints& hints) {
  if (!asks_for_layout(hints)) return false;
  const auto providers = layout_providers();
  return std::any_of(providers.begin(), providers.end(), [&](const LayoutProvider* provider) {
    return provider->create(directory, name, hints);
  });
}

bool create_with_layout(const std::string& path, const LayoutHints& hints) {
  if (!asks_for_layout(hints)) return false;
  const size_t name = path.rfind('/') + 1;  // 0 if there is no slash
  const std::string directory = name == 0 ? "." : path.substr(0, name);
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool created = create_with_layout(*storage_of(fd), path.c_str() + name, hints);
  close(fd);
  return created;
}

}  // namespace pmio
