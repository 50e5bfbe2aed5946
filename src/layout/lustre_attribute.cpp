#include "layout/lustre_attribute.h"

#include <cstring>
#include <map>
#include <numeric>

#include "layout/bytes.h"

namespace pmio {
namespace {

constexpr uint32_t kPlain1 = 0x0BD10BD0;  // LOV_USER_MAGIC_V1
constexpr uint32_t kPlain3 = 0x0BD30BD0;
constexpr uint32_t kSpecific = 0x0BD50BD0;
constexpr uint32_t kComposite = 0x0BD60BD0;  // LOV_USER_MAGIC_COMP_V1

constexpr size_t kPlain1Bytes = 32;  // heads, objects, and where their fields are
constexpr size_t kPlain3Bytes = 48;
constexpr size_t kPatternAt = 4, kStripeSizeAt = 24, kStripeCountAt = 28, kStripeOffsetAt = 30;
constexpr size_t kObjectBytes = 24, kOstAt = 20;
constexpr size_t kCompositeBytes = 32, kEntriesAt = 14;
constexpr size_t kEntryBytes = 48;

// LOV_PATTERN_*. Overstriped and compressed ones are RAID 0 too, by the place of their bytes.
constexpr uint32_t kRaid0 = 0x1, kOnMdt = 0x100, kOverstriped = 0x200, kCompressed = 0x800;
constexpr uint32_t kReleased = 0x80000000, kFlags = 0xffff0000;

// LCME_FL_*
constexpr uint32_t kStale = 0x1, kPreferredForWrites = 0x4, kOffline = 0x8, kHasObjects = 0x10;
constexpr uint32_t kExtension = 0x40, kParity = 0x80;

constexpr uint32_t kMostStripes = 2000;  // LOV_MAX_STRIPE_COUNT; a larger number asks for all OSTs
constexpr uint16_t kAnyOst = 0xffff;
constexpr uint64_t kMdt = UINT64_MAX;  // among the OSTs' numbers

// Numbers servers in the order in which they are first met.
class Numbering {
 public:
  uint32_t operator[](uint64_t target) {
    return numbers_.try_emplace(target, static_cast<uint32_t>(numbers_.size())).first->second;
  }
  uint32_t size() const { return static_cast<uint32_t>(numbers_.size()); }

 private:
  std::map<uint64_t, uint32_t> numbers_;
};

// What a plain layout, or the body of a component, says.
struct Plain {
  uint64_t stripe_bytes = 0;
  uint32_t stripes = 0;
  std::vector<uint64_t> targets;  // of each stripe; empty: none are chosen yet
};

std::optional<Plain> parse_plain(const Bytes& bytes, bool has_objects) {
  const auto magic = bytes.get<uint32_t>(0);
  if (magic != kPlain1 && magic != kPlain3 && magic != kSpecific) return {};
  const size_t head = magic == kPlain1 ? kPlain1Bytes : kPlain3Bytes;
  const auto pattern = bytes.get<uint32_t>(kPatternAt);
  if (bytes.size() < head || (pattern & kReleased) != 0) return {};
  if ((pattern & ~kFlags) == kOnMdt) return Plain{0, 1, {kMdt}};
  if ((pattern & ~kFlags & ~(kOverstriped | kCompressed)) != kRaid0) return {};
  Plain plain{bytes.get<uint32_t>(kStripeSizeAt), bytes.get<uint16_t>(kStripeCountAt), {}};
  if (plain.stripe_bytes == 0) return {};
  if (!has_objects) return plain;
  if (plain.stripes == 0 || plain.stripes > kMostStripes) return {};
  if (bytes.size() - head < plain.stripes * kObjectBytes) return {};
  for (size_t i = 0; i < plain.stripes; i++)
    plain.targets.push_back(bytes.get<uint32_t>(head + i * kObjectBytes + kOstAt));
  return plain;
}

LayoutComponent component_of(const Plain& plain, uint64_t end, Numbering* numbering) {
  LayoutComponent component{end, plain.stripe_bytes, {}};
  for (const uint64_t target : plain.targets) component.servers.push_back((*numbering)[target]);
  if (plain.targets.empty()) {
    const bool all = plain.stripes > kMostStripes;
    component.servers.resize(std::max(1u, all ? numbering->size() : plain.stripes));
    std::iota(component.servers.begin(), component.servers.end(), 0u);
  }
  if (component.servers.size() == 1) component.stripe_bytes = 0;  // one object: nothing to divide
  return component;
}

struct Entry {
  uint32_t id, flags;
  uint64_t begin, end;
  Bytes body;
  uint32_t mirror() const { return id >> 16 & 0x7fff; }
  bool is(uint32_t flag) const { return (flags & flag) != 0; }
};

Entry entry_of(const Bytes& bytes, size_t index) {
  const Bytes entry = bytes.part(kCompositeBytes + index * kEntryBytes, kEntryBytes);
  return {entry.get<uint32_t>(0), entry.get<uint32_t>(4), entry.get<uint64_t>(8), entry.get<uint64_t>(16),
          bytes.part(entry.get<uint32_t>(24), entry.get<uint32_t>(28))};
}

// The components of the mirror that is written: one that is preferred, else the first that is up to date.
std::vector<Entry> written_entries(const Bytes& bytes) {
  std::vector<Entry> entries;
  const size_t count = bytes.get<uint16_t>(kEntriesAt);
  if (bytes.size() < kCompositeBytes + count * kEntryBytes) return {};
  for (size_t i = 0; i < count; i++) {
    const Entry entry = entry_of(bytes, i);
    if (!entry.is(kStale | kOffline | kParity)) entries.push_back(entry);
  }
  if (entries.empty()) return {};
  const auto preferred = std::find_if(entries.begin(), entries.end(),
                                      [](const Entry& entry) { return entry.is(kPreferredForWrites); });
  const uint32_t mirror = (preferred == entries.end() ? entries.front() : *preferred).mirror();
  std::erase_if(entries, [=](const Entry& entry) { return entry.mirror() != mirror; });
  return entries;
}

// One component whose servers come in order is what a Layout is without components.
Layout simplified(Layout layout) {
  if (layout.components.size() != 1) return layout;
  const LayoutComponent& only = layout.components[0];
  for (uint32_t i = 0; i < only.servers.size(); i++) {
    if (only.servers[i] != i) return layout;
  }
  return Layout{only.stripe_bytes, layout.servers, {}};
}

Layout layout_of(std::vector<LayoutComponent> components, const Numbering& numbering) {
  Layout layout{0, std::max(1u, numbering.size()), std::move(components)};
  for (const LayoutComponent& component : layout.components) {
    for (const uint32_t server : component.servers) layout.servers = std::max(layout.servers, server + 1);
  }
  return simplified(std::move(layout));
}

// A component may be empty until it is extended.
std::vector<LayoutComponent> without_empty(std::vector<LayoutComponent> components) {
  std::vector<LayoutComponent> rest;
  uint64_t begin = 0;
  for (LayoutComponent& component : components) {
    if (component.end == begin) continue;
    begin = component.end;
    rest.push_back(std::move(component));
  }
  return rest;
}

std::optional<Layout> parse_composite(const Bytes& bytes) {
  std::vector<LayoutComponent> components;
  Numbering numbering;
  uint64_t end = 0;
  for (const Entry& entry : written_entries(bytes)) {
    if (entry.begin != end || entry.end < entry.begin) return {};
    end = entry.end;
    if (entry.is(kExtension)) {
      if (components.empty()) return {};
      components.back().end = end;
      continue;
    }
    const auto plain = parse_plain(entry.body, entry.is(kHasObjects));
    if (!plain) return {};
    components.push_back(component_of(*plain, end, &numbering));
  }
  components = without_empty(std::move(components));
  if (components.empty()) return {};
  components.back().end = UINT64_MAX;  // nothing can be written behind the last one
  return layout_of(std::move(components), numbering);
}

template <class Number>
void put(std::string* bytes, size_t at, Number number) {
  std::memcpy(bytes->data() + at, &number, sizeof number);
}

}  // namespace

std::optional<Layout> parse_lustre_attribute(std::string_view text) {
  const Bytes bytes(text);
  if (bytes.get<uint32_t>(0) == kComposite) return parse_composite(bytes);
  const auto plain = parse_plain(bytes, true);
  if (!plain) return {};
  Numbering numbering;
  std::vector<LayoutComponent> components{component_of(*plain, UINT64_MAX, &numbering)};
  return layout_of(std::move(components), numbering);
}

std::string lustre_attribute(uint32_t stripe_bytes, uint32_t stripes) {
  std::string bytes(kPlain1Bytes, '\0');
  put(&bytes, 0, kPlain1);
  put(&bytes, kStripeSizeAt, stripe_bytes);
  put(&bytes, kStripeCountAt, static_cast<uint16_t>(std::min(stripes, kMostStripes)));
  put(&bytes, kStripeOffsetAt, kAnyOst);
  return bytes;
}

}  // namespace pmio
