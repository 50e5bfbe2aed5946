// Whatever a nodes note or a recovery journal holds (docs/format.md), reading it stays inside it, and what is
// believed makes sense. The first byte's lowest bit: a journal, else a note; the next: put the checksums
// right first.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "log/nodes_note.h"
#include "recover/journal.h"

namespace {

using Bytes = std::vector<std::byte>;

template <class T>
T read_at(const Bytes& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

void fix_note(Bytes& bytes) {
  pmio::NodesNoteHeader header;
  if (bytes.size() < sizeof header) return;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.magic = pmio::kNodesNoteMagic;
  header.version = pmio::kNodesNoteVersion;
  // As far as it says that it goes.
  const uint64_t rest = bytes.size() - sizeof header;
  const uint64_t parts = uint64_t{header.ranks} * sizeof(uint32_t) + header.path_length;
  if (header.members_length > rest || parts > rest - header.members_length) return;
  std::memcpy(bytes.data(), &header, sizeof header);
  const size_t from = offsetof(pmio::NodesNoteHeader, target);
  header.crc = pmio::crc32c(0, bytes.data() + from, sizeof header + parts + header.members_length - from);
  std::memcpy(bytes.data(), &header, sizeof header);
}

// magic, kind (at 8), crc (12), node, nodes (20), base, claims (32)
constexpr size_t kChunkBytes = 40, kClaimBytes = sizeof(pmio::Journal::Claim);
constexpr uint64_t kJournalMagic = 0x314e524a4f494d50;

void fix_journal(Bytes& bytes) {
  for (size_t at = 0; bytes.size() - at >= kChunkBytes;) {
    std::memcpy(bytes.data() + at, &kJournalMagic, sizeof kJournalMagic);
    const auto claims = read_at<uint64_t>(bytes, at + 32);
    const uint64_t room = bytes.size() - at - kChunkBytes;
    const uint64_t unit = read_at<uint32_t>(bytes, at + 8) == 1 ? 1 : kClaimBytes;
    if (claims > room / unit) return;
    const size_t length = kChunkBytes + claims * unit;
    const uint32_t crc = pmio::crc32c(0, bytes.data() + at + 16, length - 16);
    std::memcpy(bytes.data() + at + 12, &crc, sizeof crc);
    at += length;
  }
}

const std::string& journal_path() {
  static const std::string path = [] {
    std::string made = access("/dev/shm", W_OK) == 0 ? "/dev/shm/pmio-fuzz-XXXXXX" : "/tmp/pmio-fuzz-XXXXXX";
    const int fd = mkstemp(made.data());
    if (fd < 0) abort();
    close(fd);
    static const std::string mine = made;
    std::atexit([] { unlink(mine.c_str()); });
    return made;
  }();
  return path;
}

void write_journal(const Bytes& bytes) {
  const int fd = open(journal_path().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) abort();
  close(fd);
}

void use_journal(const Bytes& bytes) {
  write_journal(bytes);
  uint32_t nodes = 0;
  {
    auto journal = pmio::Journal::look(journal_path());
    if (!journal.ok() || !journal->has_value()) return;
    nodes = static_cast<uint32_t>((**journal).waits_for().size());
    if (nodes == 0 || nodes != (**journal).nodes_left()) abort();
  }
  // One of its nodes goes on with it.
  auto journal = pmio::Journal::open(journal_path(), {0, nodes, {}, {}}, std::nullopt);
  if (!journal.ok() || !journal->has_value()) return;
  for (const pmio::Journal::Claim& claim : (**journal).claims_of_others(0))
    if (claim.range.offset < 0 || claim.range.end() <= claim.range.offset) abort();
  const pmio::Journal::Claim claim{{0, 8, 0, 1}, 1, 0};
  if (!(**journal).add_claims(0, {&claim, 1}).ok() || !(**journal).finish(0).ok()) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  if (size == 0) return 0;
  const auto* begin = reinterpret_cast<const std::byte*>(input);
  Bytes bytes(begin + 1, begin + size);
  const bool fix = (input[0] & 2) != 0;
  if ((input[0] & 1) != 0) {
    if (fix) fix_journal(bytes);
    use_journal(bytes);
    return 0;
  }
  if (fix) fix_note(bytes);
  const auto note = pmio::parse_nodes_note(bytes);
  if (note && note->place.node >= note->place.nodes) abort();
  return 0;
}
