// What the hints striping_unit and striping_factor say of a file.
#include "layout/providers.h"

namespace pmio {
namespace {

class HintsProvider final : public LayoutProvider {
 public:
  const char* name() const override { return "hints"; }
  // A striping unit alone still tells where boundaries are, though not who serves what is between them.
  std::optional<Layout> find(const Storage& /*file*/, const LayoutHints& hints) const override {
    if (hints.striping_unit == 0) return {};
    return Layout{hints.striping_unit, std::max<uint32_t>(hints.striping_factor, 1), {}};
  }
};

}  // namespace

const LayoutProvider& hinted_layouts() {
  static const HintsProvider provider;
  return provider;
}

}  // namespace pmio
