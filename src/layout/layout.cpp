#include "layout/layout.h"

#include <algorithm>

namespace pmio {
namespace {

class HintsProvider final : public LayoutProvider {
 public:
  const char* name() const override { return "hints"; }
  // A striping unit alone still tells where boundaries are, though not who serves what is between them.
  bool find(int, const LayoutHints& hints, Layout* layout) const override {
    if (hints.striping_unit == 0) return false;
    *layout = {hints.striping_unit, std::max<uint32_t>(hints.striping_factor, 1)};
    return true;
  }
};

bool sensible(const Layout& layout) { return layout.servers > 0 && layout.stripe_bytes <= INT64_MAX; }

}  // namespace

std::span<const LayoutProvider* const> layout_providers() {
  static const HintsProvider hints;
  static const LayoutProvider* const providers[] = {&hints};
  return providers;
}

Layout find_layout(int fd, const LayoutHints& hints, std::span<const LayoutProvider* const> providers) {
  for (const LayoutProvider* provider : providers) {
    Layout layout;
    if (provider->find(fd, hints, &layout) && sensible(layout)) return layout;
  }
  return Layout{};
}

Layout find_layout(int fd, const LayoutHints& hints) { return find_layout(fd, hints, layout_providers()); }

}  // namespace pmio
