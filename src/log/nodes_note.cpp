#include "log/nodes_note.h"

#include <algorithm>
#include <cstring>

#include "base/byte_stream.h"
#include "base/checksum.h"

namespace pmio {

constexpr size_t kNoteCovered = offsetof(NodesNoteHeader, target);  // the checksum begins here

namespace {

struct MembersHead {
  uint32_t ranks;
  uint32_t host_length;
};

}  // namespace

std::vector<std::byte> pack_members(std::span<const NodeMembers> members) {
  ByteWriter bytes;
  for (const NodeMembers& node : members) {
    const auto host = std::as_bytes(std::span(node.host).first(std::min(node.host.size(), kMaxHostName)));
    bytes.put(MembersHead{static_cast<uint32_t>(node.ranks.size()), static_cast<uint32_t>(host.size())})
        .put_bytes(std::as_bytes(std::span(node.ranks)))
        .put_bytes(host);
  }
  return bytes.take();
}

std::optional<std::vector<NodeMembers>> parse_members(std::span<const std::byte> bytes, uint32_t nodes) {
  std::vector<NodeMembers> members;
  if (bytes.empty()) return members;
  ByteReader reader(bytes);
  for (uint32_t node = 0; node < nodes; node++) {
    NodeMembers one;
    MembersHead head{};
    if (!reader.get(&head) || head.host_length > kMaxHostName) return {};
    if (!reader.get_items(head.ranks, &one.ranks) || !reader.get_items(head.host_length, &one.host))
      return {};
    members.push_back(std::move(one));
  }
  return reader.done() ? std::optional(std::move(members)) : std::nullopt;
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
  std::vector<std::byte> bytes = ByteWriter()
                                     .put(header)
                                     .put(uint64_t{note.place.span})
                                     .put_bytes(std::as_bytes(std::span(note.place.ranks)))
                                     .put_bytes(std::as_bytes(std::span(note.path)))
                                     .put_bytes(members)
                                     .take();
  header.crc = crc32c(0, bytes.data() + kNoteCovered, bytes.size() - kNoteCovered);
  std::memcpy(bytes.data() + offsetof(NodesNoteHeader, crc), &header.crc, sizeof header.crc);
  PMIO_TRY(medium.remove(name));
  auto region = medium.create(name, bytes.size());
  if (!region.ok()) return region.status();
  (*region)->copy(0, bytes.data(), bytes.size());
  (*region)->flush(0, bytes.size());
  return (*region)->sync();
}

std::optional<NodesNote> parse_nodes_note(std::span<const std::byte> bytes) {
  NodesNoteHeader header{};
  ByteReader reader(bytes);
  if (!reader.get(&header)) return {};
  if (header.magic != kNodesNoteMagic || header.version < 2 || header.version > kNodesNoteVersion) return {};
  uint64_t span = kAllRanks;
  if (header.version > 2 && !reader.get(&span)) return {};
  if (span < kAllRanks || span > UINT32_MAX) return {};
  if (header.nodes > kMostNodes || header.node >= header.nodes || header.path_length > kMaxPath) return {};
  NodesNote note;
  note.place.span = static_cast<Span>(span);
  if (!reader.get_items(header.ranks, &note.place.ranks)) return {};
  if (!reader.get_items(header.path_length, &note.path)) return {};
  const auto members = reader.get_bytes(header.members_length);
  if (!reader.ok()) return {};
  const size_t length = bytes.size() - reader.left();
  if (header.crc != crc32c(0, bytes.data() + kNoteCovered, length - kNoteCovered)) return {};
  auto parsed = parse_members(members, header.nodes);
  if (!parsed) return {};
  note.place.members = std::move(*parsed);
  note.target = header.target;
  note.place.node = header.node;
  note.place.nodes = header.nodes;
  return note;
}

}  // namespace pmio
