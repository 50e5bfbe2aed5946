#include "log/nodes_note.h"

#include <cstring>

#include "base/checksum.h"

namespace pmio {

constexpr size_t kCovered = offsetof(NodesNoteHeader, target);  // the checksum begins here

Status write_nodes_note(Medium& medium, std::string_view name, const NodesNote& note) {
  NodesNoteHeader header{};
  header.magic = kNodesNoteMagic;
  header.version = kFormatMajor;
  header.target = note.target;
  header.node = note.place.node;
  header.nodes = note.place.nodes;
  header.ranks = static_cast<uint32_t>(note.place.ranks.size());
  header.path_length = static_cast<uint32_t>(note.path.size());
  const size_t rank_bytes = note.place.ranks.size() * sizeof(uint32_t);
  std::vector<std::byte> bytes(sizeof header + rank_bytes + note.path.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  if (rank_bytes > 0) std::memcpy(bytes.data() + sizeof header, note.place.ranks.data(), rank_bytes);
  std::memcpy(bytes.data() + sizeof header + rank_bytes, note.path.data(), note.path.size());
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
  if (header.magic != kNodesNoteMagic || header.version != kFormatMajor) return {};
  if (header.nodes > kMostNodes || header.node >= header.nodes || header.path_length > kMaxPath) return {};
  const std::span<const std::byte> rest = bytes.subspan(sizeof header);
  if (header.ranks > rest.size() / sizeof(uint32_t)) return {};
  const size_t rank_bytes = header.ranks * sizeof(uint32_t);
  if (header.path_length > rest.size() - rank_bytes) return {};
  const size_t length = sizeof header + rank_bytes + header.path_length;
  if (header.crc != crc32c(0, bytes.data() + kCovered, length - kCovered)) return {};
  NodesNote note;
  note.target = header.target;
  note.place.node = header.node;
  note.place.nodes = header.nodes;
  note.place.ranks.resize(header.ranks);
  if (rank_bytes > 0) std::memcpy(note.place.ranks.data(), rest.data(), rank_bytes);
  note.path.assign(reinterpret_cast<const char*>(rest.data()) + rank_bytes, header.path_length);
  return note;
}

}  // namespace pmio
