#include "drain/straight_file.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/copy.h"
#include "base/file_buffer.h"
#include "extent/strided_copy.h"

namespace pmio {
namespace {

constexpr uint64_t kStageBytes = 1 << 20;    // small pieces of memory are gathered in so many bytes
constexpr uint64_t kStageless = 64 << 10;    // longer ones are not
constexpr uint64_t kNear = 4 << 10;          // pieces so near to each other are read at once,
constexpr uint64_t kSieveBytes = 256 << 10;  // so many bytes with what lies between

// The next bytes of a file, which are one behind the other in memory.
Status write_pieces(TargetFile& target, PatternCursor& file, const std::byte* data, uint64_t bytes) {
  while (bytes > 0) {
    const PatternCursor::Piece piece = file.next_piece(bytes);
    PMIO_TRY(target.write(static_cast<uint64_t>(piece.offset), data, piece.length));
    data += piece.length;
    bytes -= piece.length;
  }
  return {};
}

void scatter(PatternCursor& memory, std::byte* buffer, const std::byte* from, uint64_t bytes) {
  while (bytes > 0) {
    const Vector to = memory.next(bytes);
    scatter_blocks(buffer + to.offset, from, to.block_length, to.stride, to.count);
    from += to.bytes();
    bytes -= to.bytes();
  }
}

// The bytes of memory that come next are one piece, which is better not copied.
bool is_straight(const Vector& whole, uint64_t left) {
  return whole.count == 1 && (whole.block_length == left || whole.block_length >= kStageless);
}

// Pieces of a file that are read by one call.
class NearPieces {
 public:
  // Takes those that come next, at least one.
  void take(PatternCursor& file, uint64_t bytes) {
    pieces_.assign(1, file.next_piece(bytes));
    for (bytes -= pieces_.back().length; bytes > 0; bytes -= pieces_.back().length) {
      PatternCursor ahead = file;
      const PatternCursor::Piece next = ahead.next_piece(bytes);
      const int64_t gap = next.offset - end();
      const auto reach = next.offset + static_cast<int64_t>(next.length) - begin();
      if (gap < 0 || gap > static_cast<int64_t>(kNear) || reach > static_cast<int64_t>(kSieveBytes)) return;
      pieces_.push_back(next);
      file = ahead;
    }
  }

  // *got: fewer than all at the end of the file only.
  Status read(TargetFile& target, std::byte* to, uint64_t* got) {
    *got = 0;
    if (pieces_.size() == 1)
      return target.read(static_cast<uint64_t>(begin()), to, pieces_.front().length, got);
    std::byte* const sieve = sieve_.at(static_cast<uint64_t>(begin()));
    uint64_t here = 0;
    PMIO_TRY(
        target.read(static_cast<uint64_t>(begin()), sieve, static_cast<uint64_t>(end() - begin()), &here));
    for (const PatternCursor::Piece& piece : pieces_) {
      const auto at = static_cast<uint64_t>(piece.offset - begin());
      const uint64_t bytes = std::min(piece.length, here - std::min(here, at));
      copy_bytes(to + *got, sieve + at, bytes);
      *got += bytes;
      if (bytes < piece.length) break;
    }
    return {};
  }
  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const PatternCursor::Piece& piece : pieces_) sum += piece.length;
    return sum;
  }

 private:
  int64_t begin() const { return pieces_.front().offset; }
  int64_t end() const { return pieces_.back().offset + static_cast<int64_t>(pieces_.back().length); }
  std::vector<PatternCursor::Piece> pieces_;
  FileBuffer sieve_{kSieveBytes};
};

Status read_pieces(TargetFile& target, PatternCursor& file, std::byte* data, uint64_t bytes, uint64_t* got) {
  NearPieces near;
  for (*got = 0; *got < bytes;) {
    near.take(file, bytes - *got);
    uint64_t here = 0;
    PMIO_TRY(near.read(target, data + *got, &here));
    *got += here;
    if (here < near.bytes()) break;
  }
  return {};
}

// What another object for the same file has counted.
void add(IoCounters& to, const IoCounters& from) {
  const auto take = [](std::atomic<uint64_t>& sum, const std::atomic<uint64_t>& more) {
    sum.fetch_add(more.load(std::memory_order_relaxed), std::memory_order_relaxed);
  };
  for (size_t i = 0; i < std::size(from.reads); i++) take(to.reads[i], from.reads[i]);
  take(to.read_bytes, from.read_bytes);
  take(to.read_ns, from.read_ns);
}

}  // namespace

Result<std::unique_ptr<FreshFile>> FreshFile::of(TargetFile& file) {
  auto target = file.reopen_past_cache();
  if (!target.ok()) return target.status();
  if (!(*target)->past_cache()) (*target)->forget_cached(0, 0);
  return std::unique_ptr<FreshFile>(new FreshFile(file, std::move(target).value()));
}

FreshFile::~FreshFile() { add(file_.counters(), target_->counters()); }

Status StraightFile::write_to(TargetFile& target, PatternCursor& file, PatternCursor& memory,
                              const std::byte* buffer, uint64_t bytes) {
  std::vector<std::byte> stage;
  const auto send = [&] {
    Status status = write_pieces(target, file, stage.data(), stage.size());
    stage.clear();
    return status;
  };
  for (uint64_t left = bytes; left > 0;) {
    PatternCursor ahead = memory;
    Vector piece = ahead.next(left);
    if (is_straight(piece, left)) {
      PMIO_TRY(send());
      PMIO_TRY(write_pieces(target, file, buffer + piece.offset, piece.block_length));
      memory = ahead;
    } else {
      stage.reserve(std::min(bytes, kStageBytes));
      piece = memory.next(std::min(left, kStageBytes - stage.size()));
      stage.resize(stage.size() + piece.bytes());
      gather_blocks(stage.data() + stage.size() - piece.bytes(), buffer + piece.offset, piece.block_length,
                    piece.stride, piece.count);
      if (stage.size() == kStageBytes) PMIO_TRY(send());
    }
    left -= piece.bytes();
  }
  return send();
}

Status StraightFile::read_from(TargetFile& target, PatternCursor& file, PatternCursor& memory,
                               std::byte* buffer, uint64_t bytes, uint64_t* got) {
  *got = 0;
  FileBuffer stage(std::min(bytes, kStageBytes));
  while (*got < bytes) {
    const uint64_t left = bytes - *got;
    PatternCursor ahead = memory;
    const Vector piece = ahead.next(left);
    uint64_t asked = piece.block_length, here = 0;
    if (is_straight(piece, left)) {
      PMIO_TRY(read_pieces(target, file, buffer + piece.offset, asked, &here));
      memory = ahead;
    } else {
      asked = std::min(left, kStageBytes);
      std::byte* const staged = stage.at(static_cast<uint64_t>(file.offset()));
      PMIO_TRY(read_pieces(target, file, staged, asked, &here));
      scatter(memory, buffer, staged, here);
    }
    *got += here;
    if (here < asked) break;
  }
  return {};
}

Status StraightFile::write(PatternCursor& file, PatternCursor& memory, const std::byte* buffer,
                           uint64_t bytes) {
  PMIO_TRY(write_to(*target_, file, memory, buffer, bytes));
  return sharing_ == Sharing::nodes ? target_->sync() : Status();
}

Status StraightFile::read(PatternCursor& file, PatternCursor& memory, std::byte* buffer, uint64_t bytes,
                          uint64_t* got) {
  if (sharing_ == Sharing::node) return read_from(*target_, file, memory, buffer, bytes, got);
  *got = 0;
  auto fresh = FreshFile::of(*target_);
  return fresh.ok() ? read_from((*fresh)->target(), file, memory, buffer, bytes, got) : fresh.status();
}

}  // namespace pmio
