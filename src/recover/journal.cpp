#include "recover/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/checksum.h"
#include "base/clock.h"
#include "medium/directory.h"

namespace pmio {
namespace {

constexpr uint64_t kJournalMagic = 0x314e524a4f494d50;  // "PMIOJRN1"
constexpr uint32_t kBegin = 1, kClaims = 2, kDone = 3;
constexpr int kMostAttempts = 1000;
constexpr useconds_t kPauseMicroseconds = 10'000;
constexpr size_t kMostClaims = 1 << 16;    // of a chunk
constexpr size_t kMostMembers = 64 << 20;  // bytes

Status error_of(const std::string& path, int error) {
  return Status::from_errno(error,
                            "cannot use '" + path + "', by which the nodes' recoveries know of each other");
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

struct Journal::Chunk {
  uint64_t magic;
  uint32_t kind;
  uint32_t crc;  // crc32c(0, bytes [16, sizeof(Chunk)) and the claims)
  uint32_t node;
  uint32_t nodes;
  uint64_t base;
  uint64_t claims;  // so many follow; in the first chunk: bytes of members

  std::span<const std::byte> covered() const {
    return std::as_bytes(std::span(this, 1)).subspan(offsetof(Chunk, node));
  }
};

uint64_t Journal::payload_bytes(const Chunk& chunk) {
  return chunk.kind == kBegin ? chunk.claims : chunk.claims * sizeof(Claim);
}

uint32_t Journal::crc_of(const Chunk& chunk, std::span<const std::byte> payload) {
  const auto head = chunk.covered();
  return crc32c(crc32c(0, head.data(), head.size()), payload.data(), payload.size());
}

std::string Journal::path_of(const std::string& target, const Of& whose, uint64_t inode) {
  char name[80];
  const int length =
      std::snprintf(name, sizeof name, "/.pmio-recovery-%016" PRIx64 "-%" PRIx64, whose.job, inode);
  if (whose.span != kAllRanks)
    std::snprintf(name + length, sizeof name - static_cast<size_t>(length), "-%" PRIx32, whose.span);
  return directory_of(target) + name;
}

std::vector<Journal::Of> Journal::all_beside(const std::string& target, uint64_t inode) {
  std::vector<Of> all;
  std::error_code error;
  std::filesystem::directory_iterator at(directory_of(target), error);
  for (const std::filesystem::directory_iterator end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    Of whose;
    uint64_t of_inode = 0;
    if (std::sscanf(name.c_str(), ".pmio-recovery-%16" SCNx64 "-%" SCNx64 "-%" SCNx32, &whose.job, &of_inode,
                    &whose.span) >= 2 &&
        path_of("here", whose, inode).compare(2, std::string::npos, name) == 0)
      all.push_back(whose);
  }
  std::sort(all.begin(), all.end());
  return all;
}

Status Journal::lock(bool create) {
  lock_ =
      FileDescriptor(::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0), 0600));
  if (!lock_.ok()) return error_of(path_, errno);
  struct flock all {};
  all.l_type = F_WRLCK;
  all.l_whence = SEEK_SET;
  while (fcntl(lock_.get(), F_OFD_SETLKW, &all) != 0) {
    if (errno != EINTR) return error_of(path_, errno);
  }
  // Opened anew, now that nobody else writes it: a network file system shows what was there at the open.
  file_ = FileDescriptor(::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file_.ok()) return error_of(path_, errno);
  struct stat locked {};
  struct stat named {};
  if (fstat(lock_.get(), &locked) != 0 || fstat(file_.get(), &named) != 0) return error_of(path_, errno);
  if (named.st_uid != geteuid()) return error_of(path_, EACCES);
  if (locked.st_size > 0) before_ = locked.st_mtim;
  return locked.st_ino == named.st_ino ? Status() : error_of(path_, ENOENT);
}

bool Journal::take(const Chunk& chunk, std::span<const std::byte> payload) {
  if (has_base_ == (chunk.kind == kBegin)) return false;
  if (chunk.kind == kBegin) {
    auto members = parse_members(payload, nodes_);
    if (!members) return false;
    members_ = std::move(*members);
    has_base_ = true;
    base_ = chunk.base;
    return true;
  }
  if (chunk.kind == kDone) {
    done_.insert(chunk.node);
  } else if (chunk.kind != kClaims) {
    return false;
  }
  for (uint64_t i = 0; i < chunk.claims; i++) {
    OfNode entry{chunk.node, {}};
    std::memcpy(&entry.claim, payload.data() + i * sizeof(Claim), sizeof(Claim));
    if (!well_formed(entry.claim.range)) return false;
    claims_.push_back(entry);
  }
  return true;
}

static bool is_sane_size(uint32_t kind, uint64_t count) {
  return count <= (kind == kBegin ? kMostMembers : kMostClaims);
}

Result<bool> Journal::load() {
  std::vector<std::byte> payload;
  // What cannot be read now is no end: others' claims follow it.
  const auto read_at = [this](uint64_t at, std::span<std::byte> bytes) -> Result<bool> {
    while (!bytes.empty()) {
      const ssize_t n = pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return error_of(path_, errno);
      if (n == 0) return false;
      at += static_cast<uint64_t>(n);
      bytes = bytes.subspan(static_cast<size_t>(n));
    }
    return true;
  };
  for (;;) {
    Chunk chunk{};
    const auto head = read_at(end_, std::as_writable_bytes(std::span(&chunk, 1)));
    if (!head.ok()) return head.status();
    if (!head.value()) break;
    if (chunk.magic != kJournalMagic || !is_sane_size(chunk.kind, chunk.claims)) break;
    if (nodes_ == 0 && chunk.nodes <= kMostNodes) nodes_ = chunk.nodes;
    if (chunk.nodes != nodes_ || chunk.node >= nodes_) break;
    payload.resize(payload_bytes(chunk));
    const auto rest = read_at(end_ + sizeof chunk, payload);
    if (!rest.ok()) return rest.status();
    if (!rest.value()) break;
    if (crc_of(chunk, payload) != chunk.crc || !take(chunk, payload)) break;
    end_ += sizeof chunk + payload.size();
  }
  return has_base_;
}

Status Journal::begin(const NodePlace& place, uint64_t base) {
  end_ = 0;
  const std::vector<std::byte> members = pack_members(place.members);
  PMIO_TRY(append(Chunk{kJournalMagic, kBegin, 0, 0, nodes_, base, members.size()}, members));
  if (const int error = sync_directory(AT_FDCWD, directory_of(path_).c_str()); error != 0)
    return error_of(path_, error);
  has_base_ = true;
  base_ = base;
  members_ = place.members;
  return {};
}

Result<std::optional<Journal>> Journal::look(const std::string& path) {
  return open(path, NodePlace{0, 0, {}, {}}, std::nullopt);
}

Result<std::optional<Journal>> Journal::open(const std::string& path, const NodePlace& place,
                                             std::optional<uint64_t> base) {
  for (int attempt = 1;; attempt++) {
    Journal journal(path);
    const Status locked = journal.lock(base.has_value());
    const int why = locked.system_errno();
    if (why == ENOENT && !base) return std::optional<Journal>();
    // The last node has just removed it; or the first one has just made it, which a network file system's
    // client has not heard of.
    const bool moving = why == ENOENT || why == EEXIST || why == ESTALE;
    if (moving && attempt < kMostAttempts) {
      usleep(kPauseMicroseconds);
      continue;
    }
    if (!locked.ok()) return locked;
    journal.nodes_ = place.nodes;
    const Result<bool> loaded = journal.load();
    if (!loaded.ok()) return loaded.status();
    const bool begun = loaded.value();
    if (begun && journal.nodes_left() == 0) {  // all have finished, and the last one could not remove it
      PMIO_TRY(journal.give_up());
      continue;
    }
    if (!begun) {
      if (!base) return std::optional<Journal>();
      PMIO_TRY(journal.begin(place, *base));
    }
    return std::optional<Journal>(std::move(journal));
  }
}

Status Journal::append(uint32_t kind, uint32_t node, std::span<const Claim> claims) {
  return append(Chunk{kJournalMagic, kind, 0, node, nodes_, base_, claims.size()}, std::as_bytes(claims));
}

Status Journal::append(const Chunk& given, std::span<const std::byte> payload) {
  Chunk chunk = given;
  chunk.crc = crc_of(chunk, payload);
  const auto head = std::as_bytes(std::span(&chunk, 1));
  std::vector<std::byte> bytes(head.begin(), head.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t n =
        pwrite(file_.get(), bytes.data() + at, bytes.size() - at, static_cast<off_t>(end_ + at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return error_of(path_, n < 0 ? errno : EIO);
    at += static_cast<size_t>(n);
  }
  if (fdatasync(file_.get()) != 0) return error_of(path_, errno);
  end_ += bytes.size();
  return {};
}

std::vector<Journal::Claim> Journal::claims_of_others(uint32_t node) const {
  std::vector<Claim> claims;
  for (const OfNode& entry : claims_) {
    if (entry.node != node) claims.push_back(entry.claim);
  }
  return claims;
}

Status Journal::add_claims(uint32_t node, std::span<const Claim> claims) {
  for (; !claims.empty(); claims = claims.subspan(std::min(claims.size(), kMostClaims)))
    PMIO_TRY(append(kClaims, node, claims.first(std::min(claims.size(), kMostClaims))));
  return {};
}

std::vector<Journal::WaitedFor> Journal::waits_for() const {
  std::vector<WaitedFor> nodes;
  for (uint32_t node = 0; node < nodes_; node++) {
    if (done_.count(node) != 0) continue;
    nodes.push_back({node, node < members_.size() ? members_[node] : NodeMembers()});
  }
  return nodes;
}

std::optional<uint64_t> Journal::changed_ns(const std::string& path) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0 || facts.st_uid != geteuid()) return {};
  return to_ns(facts.st_mtim);
}

void Journal::note_change() { static_cast<void>(futimens(file_.get(), nullptr)); }

void Journal::note_no_change() {
  const timespec times[] = {{0, UTIME_OMIT}, before_};
  static_cast<void>(futimens(file_.get(), times));
}

Status Journal::give_up() {
  return unlink(path_.c_str()) == 0 || errno == ENOENT ? Status() : error_of(path_, errno);
}

Status Journal::finish(uint32_t node) {
  if (done_.count(node) == 0) PMIO_TRY(append(kDone, node, {}));
  done_.insert(node);
  return nodes_left() == 0 ? give_up() : Status();
}

}  // namespace pmio
