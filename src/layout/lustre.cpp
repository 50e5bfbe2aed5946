// Lustre: where a file's stripes are, and files with the stripes that one asks for. The attribute is read by
// lustre_attribute.cpp. A layout can be given only before the file has objects, so the file is made without
// them (O_LOV_DELAY_CREATE), then the attribute set. An MPI library that tries the same afterwards is told
// that the file has a layout already (EEXIST), which ROMIO takes silently. Source: Lustre,
// lustre/include/uapi/linux/lustre/lustre_user.h.
#include <fcntl.h>

#include <cstring>

#include "layout/lustre_attribute.h"
#include "layout/providers.h"

namespace pmio {
namespace {

constexpr int kDelayCreate = O_NOCTTY | FASYNC;  // O_LOV_DELAY_CREATE
constexpr uint64_t kSmallestStripe = 64 << 10;   // LOV_MIN_STRIPE_SIZE: stripes are multiples of it

class LustreProvider final : public LayoutProvider {
 public:
  const char* name() const override { return "lustre"; }

  std::optional<Layout> find(const Storage& file, const LayoutHints& /*hints*/) const override {
    if (file.file_system() != "lustre") return {};
    return parse_lustre_attribute(file.attribute("lustre.lov"));
  }

  bool create(Storage& directory, const char* name, const LayoutHints& hints) const override {
    if (directory.file_system() != "lustre") return false;
    const auto file = directory.create(name, kDelayCreate);
    if (file == nullptr) return false;
    const uint64_t unit = hints.striping_unit;
    const bool possible = unit % kSmallestStripe == 0 && unit <= UINT32_MAX;
    (void)file->set_attribute(
        "lustre.lov", lustre_attribute(possible ? static_cast<uint32_t>(unit) : 0, hints.striping_factor));
    return true;
  }
};

}  // namespace

const LayoutProvider& lustre_layouts() {
  static const LustreProvider provider;
  return provider;
}

}  // namespace pmio
