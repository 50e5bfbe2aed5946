// GlusterFS: a file is on one brick, or on one set of bricks that hold copies or fragments of it: one server.
// Only striped volumes (removed in GlusterFS 6) divide a file. The attribute glusterfs.pathinfo, which root
// also reads as trusted.glusterfs.pathinfo, shows it:
//   (<DISTRIBUTE:v-dht> (<STRIPE:v-stripe-0:[131072]> <POSIX(/b1):host1:/b1/f> <POSIX(/b2):host2:/b2/f>))
// where in place of a brick there may be a group again. Sharded volumes are not told apart: a shard is a
// file of its own to the volume, and the pathinfo is that of the first.
#include <charconv>

#include "layout/providers.h"

namespace pmio {
namespace {

constexpr std::string_view kStripe = "<STRIPE:";

// Bricks and groups in the text behind a group's head, up to the group's end.
uint32_t count_members(std::string_view text) {
  uint32_t members = 0;
  size_t depth = 0;
  for (size_t at = 0; at < text.size(); at++) {
    if (text[at] == ')') {
      if (depth == 0) break;
      depth--;
      continue;
    }
    if (text[at] != '(' && text[at] != '<') continue;
    if (depth == 0) members++;
    if (text[at] == '(') {
      depth++;
    } else {
      at = std::min(text.find('>', at), text.size());  // a brick's name has brackets of its own
    }
  }
  return members;
}

std::optional<Layout> striped(std::string_view head_on) {
  const size_t end = head_on.find('>');
  const size_t open = head_on.substr(0, end).rfind('[');
  if (end == head_on.npos || open == head_on.npos) return {};
  Layout layout;
  const char* last = head_on.data() + end;
  const auto [behind, error] = std::from_chars(head_on.data() + open + 1, last, layout.stripe_bytes);
  if (error != std::errc() || behind == last || *behind != ']' || layout.stripe_bytes == 0) return {};
  layout.servers = count_members(head_on.substr(end + 1));
  return layout;
}

class GlusterProvider final : public LayoutProvider {
 public:
  const char* name() const override { return "glusterfs"; }
  std::optional<Layout> find(const Storage& file, const LayoutHints& /*hints*/) const override {
    if (file.file_system() != "fuse.glusterfs") return {};
    std::string path = file.attribute("glusterfs.pathinfo");
    if (path.empty()) path = file.attribute("trusted.glusterfs.pathinfo");
    if (path.empty()) return {};
    const size_t stripe = path.find(kStripe);
    if (stripe == path.npos) return Layout{};
    return striped(std::string_view(path).substr(stripe));
  }
};

}  // namespace

const LayoutProvider& glusterfs_layouts() {
  static const GlusterProvider provider;
  return provider;
}

}  // namespace pmio
