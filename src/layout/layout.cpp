#include "layout/layout.h"

namespace pmio {
namespace {

constexpr uint64_t kLargestStripe = INT64_MAX;

// Takes words from the front; nothing more once there are too few.
class Words {
 public:
  explicit Words(std::span<const uint64_t> words) : words_(words) {}
  uint64_t next() {
    if (words_.empty()) {
      short_ = true;
      return 0;
    }
    const uint64_t word = words_[0];
    words_ = words_.subspan(1);
    return word;
  }
  bool complete() const { return !short_ && words_.empty(); }
  bool has(uint64_t words) const { return words <= words_.size(); }

 private:
  std::span<const uint64_t> words_;
  bool short_ = false;
};

}  // namespace

uint64_t Layout::smallest_stripe_bytes() const {
  uint64_t smallest = components.empty() && stripe_bytes != 0 ? stripe_bytes : UINT64_MAX;
  for (const LayoutComponent& component : components) {
    if (component.stripe_bytes != 0) smallest = std::min(smallest, component.stripe_bytes);
  }
  return smallest;
}

bool Layout::valid() const {
  if (servers == 0 || stripe_bytes > kLargestStripe) return false;
  uint64_t begin = 0;
  for (const LayoutComponent& component : components) {
    const auto& own = component.servers;
    if (component.end <= begin || component.stripe_bytes > kLargestStripe || own.empty()) return false;
    if (std::any_of(own.begin(), own.end(), [this](uint32_t server) { return server >= servers; }))
      return false;
    begin = component.end;
  }
  return components.empty() || begin == UINT64_MAX;
}

std::vector<uint64_t> pack(const Layout& layout) {
  std::vector<uint64_t> words{layout.stripe_bytes, layout.servers, layout.components.size()};
  for (const LayoutComponent& component : layout.components) {
    words.insert(words.end(), {component.end, component.stripe_bytes, component.servers.size()});
    words.insert(words.end(), component.servers.begin(), component.servers.end());
  }
  return words;
}

std::optional<Layout> unpack(std::span<const uint64_t> words) {
  Words from(words);
  Layout layout;
  layout.stripe_bytes = from.next();
  layout.servers = static_cast<uint32_t>(std::min<uint64_t>(from.next(), UINT32_MAX));
  for (uint64_t left = from.next(); left > 0; left--) {
    LayoutComponent component{from.next(), from.next(), {}};
    const uint64_t servers = from.next();
    if (!from.has(servers)) return {};
    for (uint64_t i = 0; i < servers; i++)
      component.servers.push_back(static_cast<uint32_t>(std::min<uint64_t>(from.next(), UINT32_MAX)));
    layout.components.push_back(std::move(component));
    if (!from.has(left - 1)) return {};
  }
  if (!from.complete() || !layout.valid()) return {};
  return layout;
}

}  // namespace pmio
