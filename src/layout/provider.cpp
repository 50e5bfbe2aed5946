#include "layout/provider.h"

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

bool create_with_layout(Storage& directory, const char* name, const LayoutHints& hints) {
  if (hints.striping_unit == 0 && hints.striping_factor == 0) return false;
  const auto providers = layout_providers();
  return std::any_of(providers.begin(), providers.end(), [&](const LayoutProvider* provider) {
    return provider->create(directory, name, hints);
  });
}

}  // namespace pmio
