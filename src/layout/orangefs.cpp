// OrangeFS (PVFS2), by the two attributes that its own pvfs2-viewdist reads of a mounted file:
//   system.pvfs2.md   the distribution, encoded little-endian: length of its name (32 bits), the name, a
//   zero,
//                     padding to 8 bytes; then its parameters. simple_stripe: strip size in bytes (64 bits).
//                     basic_dist: none, the whole file is on one server. Of others nothing is known here.
//   system.pvfs2.dh   a handle of 64 bits for each data file, in the order of the strips
// Source: OrangeFS, pint-distribution.h, endecode-funcs.h, dist-simple-stripe.c, pvfs2-viewdist.c.
#include "layout/bytes.h"
#include "layout/providers.h"

namespace pmio {
namespace {

constexpr size_t kHandleBytes = 8;

std::optional<Layout> parse(const Bytes& distribution, size_t data_files) {
  const auto name_bytes = distribution.get<uint32_t>(0);
  const std::string_view name = distribution.part(4, name_bytes).text();
  if (name == "basic_dist") return Layout{};
  if (name != "simple_stripe" || data_files == 0) return {};
  const size_t parameters = (4 + name.size() + 1 + 7) / 8 * 8;
  const auto strip_bytes = distribution.get<uint64_t>(parameters);
  if (strip_bytes == 0) return {};
  return Layout{strip_bytes, static_cast<uint32_t>(data_files), {}};
}

class OrangeProvider final : public LayoutProvider {
 public:
  const char* name() const override { return "orangefs"; }
  std::optional<Layout> find(const Storage& file, const LayoutHints& /*hints*/) const override {
    if (file.file_system() != "orangefs") return {};
    const std::string distribution = file.attribute("system.pvfs2.md");
    if (distribution.empty()) return {};
    return parse(Bytes(distribution), file.attribute("system.pvfs2.dh").size() / kHandleBytes);
  }
};

}  // namespace

const LayoutProvider& orangefs_layouts() {
  static const OrangeProvider provider;
  return provider;
}

}  // namespace pmio
