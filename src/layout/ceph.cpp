// CephFS, mounted by the kernel or by ceph-fuse, through its virtual attributes, which are text:
//   ceph.file.layout   "stripe_unit=1048576 stripe_count=4 object_size=4194304 pool=data"
// Units go round-robin over stripe_count objects until each of them has object_size bytes, then over the next
// stripe_count objects. The server here is the number of the object in its set. Which OSD has an object is
// decided by the cluster's map, which a client does not see here. One field may be set by its own name, while
// the file is empty. Source: CephFS documentation, "File layouts"; limits: Ceph, file_layout_t::is_valid and
// osd_max_object_size.
#include <charconv>

#include "layout/providers.h"

namespace pmio {
namespace {

constexpr uint64_t kUnitBytes = 64 << 10;  // units and objects are multiples of it
constexpr uint64_t kUsualObjectBytes = 4 << 20;
constexpr uint64_t kLargestObjectBytes = 128 << 20;  // beyond it OSDs refuse to write, unless configured

struct Fields {
  uint64_t stripe_unit = 0, stripe_count = 0, object_size = 0;
};

// 0 if the text has no such field, or no number in it.
uint64_t field(std::string_view text, std::string_view key) {
  uint64_t value = 0;
  for (size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
    if (at > 0 && text[at - 1] != ' ') continue;
    const char* number = text.data() + at + key.size();
    return std::from_chars(number, text.data() + text.size(), value).ec == std::errc() ? value : 0;
  }
  return 0;
}

Fields fields_of(const Storage& file) {
  const std::string text = file.attribute("ceph.file.layout");
  return {field(text, "stripe_unit="), field(text, "stripe_count="), field(text, "object_size=")};
}

bool set(Storage& file, const char* name, uint64_t value) {
  return file.set_attribute(name, std::to_string(value));
}

// The units of an object are whole at every step, as each step must leave a valid layout.
void set_unit(Storage& file, uint64_t unit) {
  if (unit == 0 || unit % kUnitBytes != 0 || unit > kLargestObjectBytes) return;
  const uint64_t now = fields_of(file).object_size;
  if (now == 0) return;
  if (now % unit != 0) {
    const uint64_t object = unit * std::max<uint64_t>(1, kUsualObjectBytes / unit);
    if (!set(file, "ceph.file.layout.stripe_unit", kUnitBytes)) return;
    if (!set(file, "ceph.file.layout.object_size", object)) return;
  }
  (void)set(file, "ceph.file.layout.stripe_unit", unit);
}

class CephProvider final : public LayoutProvider {
 public:
  const char* name() const override { return "ceph"; }

  std::optional<Layout> find(const Storage& file, const LayoutHints& /*hints*/) const override {
    if (!is_ceph(file)) return {};
    const Fields found = fields_of(file);
    if (found.stripe_unit == 0 || found.stripe_count == 0 || found.stripe_count > UINT32_MAX) return {};
    // Units of one object follow each other: only its end is a boundary.
    if (found.stripe_count == 1) return Layout{std::max(found.stripe_unit, found.object_size), 1, {}};
    return Layout{found.stripe_unit, static_cast<uint32_t>(found.stripe_count), {}};
  }

  bool create(Storage& directory, const char* name, const LayoutHints& hints) const override {
    if (!is_ceph(directory)) return false;
    const auto file = directory.create(name, 0);
    if (file == nullptr) return false;
    set_unit(*file, hints.striping_unit);
    if (hints.striping_factor != 0) (void)set(*file, "ceph.file.layout.stripe_count", hints.striping_factor);
    return true;
  }

 private:
  static bool is_ceph(const Storage& file) {
    return file.file_system() == "ceph" || file.file_system() == "fuse.ceph-fuse";
  }
};

}  // namespace

const LayoutProvider& ceph_layouts() {
  static const CephProvider provider;
  return provider;
}

}  // namespace pmio
