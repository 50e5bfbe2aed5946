// Each rank accesses its own bytes.
#include <algorithm>
#include <vector>

#include "twophase/call.h"
#include "twophase/pieces.h"

namespace pmio {
namespace {

constexpr uint64_t kStageBytes = uint64_t{1} << 20;  // for pieces that lie apart in memory

}  // namespace

Status write_alone(TwoPhaseParts& parts, const Stream& stream) {
  const TwoPhaseRequest& request = stream.request();
  if (request.bytes == 0) return {};
  PatternCursor to = stream.file_cursor(0), from = stream.memory_cursor(0);
  std::vector<std::byte> stage;
  const bool staged = !request.memory->dense;
  if (staged) stage.resize(std::min(kStageBytes, request.bytes));
  const uint64_t most = staged ? stage.size() : request.bytes;
  for (uint64_t left = request.bytes; left > 0;) {
    const PatternCursor::Piece piece = to.next_piece(std::min(left, most));
    std::byte* data = stage.data();
    if (staged)
      copy_group<Way::to_image>({piece.offset, piece.length}, from, request.base, data);
    else
      data = request.base + from.next(piece.length).offset;
    PMIO_TRY(parts.file.write(static_cast<uint64_t>(piece.offset), data, piece.length));
    left -= piece.length;
  }
  return {};
}

Status read_alone(TwoPhaseParts& parts, const Stream& stream, uint64_t* got) {
  const TwoPhaseRequest& request = stream.request();
  *got = 0;
  if (request.bytes == 0) return {};
  PatternCursor from = stream.file_cursor(0), to = stream.memory_cursor(0);
  std::vector<std::byte> stage;
  const bool staged = !request.memory->dense;
  if (staged) stage.resize(std::min(kStageBytes, request.bytes));
  const uint64_t most = staged ? stage.size() : request.bytes;
  while (*got < request.bytes) {
    const PatternCursor::Piece piece = from.next_piece(std::min(request.bytes - *got, most));
    std::byte* data = staged ? stage.data() : request.base + to.next(piece.length).offset;
    uint64_t n = 0;
    PMIO_TRY(parts.file.read(static_cast<uint64_t>(piece.offset), data, piece.length, &n));
    if (staged && n > 0) copy_group<Way::from_image>({piece.offset, n}, to, request.base, data);
    *got += n;
    if (n < piece.length) break;
  }
  return {};
}

}  // namespace pmio
