#include "log/nodes_note.h"

#include <algorithm>
#include <cstring>

#include "base/checksum.h"

namespace pmio {

constexpr size_t kCovered = offsetof(NodesNoteHeader, target);  // the checksum begins here

namespace {

struct MembersHead {
  uint32_t ranks;
  uint32_t host_length;
};

void put(std::vector<std::byte>* bytes, const void* data, size_t length) {
  const auto* from = static_cast<const std::byte*>(data);
  bytes->insert(bytes->end(), from, from + length);
}

// The first `length` bytes, taken off; nullptr: there are not so many.
const std::byte* take(std::span<const std::byte>* bytes, uint64_t length) {
  if (length > bytes->size()) return nullptr;
  const std::byte* taken = bytes->data();
  *bytes = bytes->subspan(length);
  return taken;
}

bool take_ranks(std::span<const std::byte>* bytes, uint32_t count, std::vector<uint32_t>* ranks) {
  const std::byte* from = take(bytes, uint64_t{count} * sizeof(uint32_t));
  if (from == nullptr) return false;
  ranks->resize(count);
  if (count > 0) std::memcpy(ranks->data(), from, count * sizeof(uint32_t));
  return true;
}

}  // namespace

std::vector<std::byte> pack_members(std::span<const NodeMembers> members) {
  std::vector<std::byte> bytes;
  for (const NodeMembers& node : members) {
    const MembersHead head{static_cast<uint32_t>(node.ranks.size()),
                           static_cast<uint32_t>(std::min(node.host.size(), kMaxHostName))};
    put(&bytes, &head, sizeof head);
    put(&bytes, node.ranks.data(), node.ranks.size() * sizeof(uint32_t));
    put(&bytes, node.host.data(), head.host_length);
  }
  return bytes;
}

std::optional<std::vector<NodeMembers>> parse_members(std::span<const std::byte> bytes, uint32_t nodes) {
  std::vector<NodeMembers> members;
  if (bytes.empty()) return members;
  for (uint32_t node = 0; node < nodes; node++) {
    NodeMembers one;
    MembersHead head{};
    const std::byte* from = take(&bytes, sizeof head);
    if (from == nullptr) return {};
    std::memcpy(&head, from, sizeof head);
    if (head.host_length > kMaxHostName || !take_ranks(&bytes, head.ranks, &one.ranks)) return {};
    const std::byte* host = take(&bytes, head.host_length);
    if (host == nullptr) return {};
    one.host.assign(reinterpret_cast<const char*>(host), head.host_length);
    members.push_back(std::move(one));
  }
  return bytes.empty() ? std::optional(std::move(members)) : std::nullopt;
}

Status write_nodes_note(Medium& medium, std::string_view name, const NodesNote& note) {
  NodesNoteHeader header{};
  header.magic = kNodesNoteMagic;
  header.version = kNodesNoteVersion;
  header.target = note.target;
  header.node = note.place.node;
  header.nodes = note.place.nodes;
  header.ranks = static_cast<uint32_t>(note.place.ranks.size());
  header.path_length = static_cast<uint32_t>(note.path.size());
  const std::vector<std::byte> members = pack_members(note.place.members);
  header.members_length = members.size();
  std::vector<std::byte> bytes;
  put(&bytes, &header, sizeof header);
  put(&bytes, note.place.ranks.data(), note.place.ranks.size() * sizeof(uint32_t));
  put(&bytes, note.path.data(), note.path.size());
  put(&bytes, members.data(), members.size());
  header.crc = crc32c(0, bytes.data() + kCovered, bytes.size() - kCovered);
  std::memcpy(bytes.data() + offsetof(NodesNoteHeader, crc), &header.crc, sizeof header.crc);
  PMIO_TRY(medium.remove(name));
  auto region = medium.create(name, bytes.size());
  if (!region.ok()) return region.status();
  (*region)->copy(0, bytes.data(), bytes.size());
  (*region)->flush(0, bytes.size());
  return (*region)->sync();
}

std::optional<NodesNote> parse_nodes_note(std::span<const std::byte> bytes) {
  NodesNoteHeader header;
  if (bytes.size() < sizeof header) return {};
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kNodesNoteMagic || header.version != kNodesNoteVersion) return {};
  if (header.nodes > kMostNodes || header.node >= header.nodes || header.path_length > kMaxPath) return {};
  std::span<const std::byte> rest = bytes.subspan(sizeof header);
  NodesNote note;
  if (!take_ranks(&rest, header.ranks, &note.place.ranks)) return {};
  const std::byte* path = take(&rest, header.path_length);
  const std::byte* members = path == nullptr ? nullptr : take(&rest, header.members_length);
  if (members == nullptr) return {};
  const size_t length = bytes.size() - rest.size();
  if (header.crc != crc32c(0, bytes.data() + kCovered, length - kCovered)) return {};
  auto parsed = parse_members({members, header.members_length}, header.nodes);
  if (!parsed) return {};
  note.place.members = std::move(*parsed);
  note.target = header.target;
  note.place.node = header.node;
  note.place.nodes = header.nodes;
  note.path.assign(reinterpret_cast<const char*>(path), header.path_length);
  return note;
}

}  // namespace pmio
