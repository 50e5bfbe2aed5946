#include "cluster/fetch.h"

#include <utility>

namespace pmio {

// What one answer brings.
static Status take_pieces(uint64_t window, std::vector<std::byte> answer, Fetched* fetched) {
  fetched->answers.push_back(std::move(answer));
  MessageReader reader(fetched->answers.back());
  NextPart next = 0;
  uint64_t count = 0;
  if (!reader.get(&next) || !reader.get(&count) || count > reader.left() / sizeof(PieceBody))
    return nonsense();
  MessageReader bodies(reader.get_bytes(count * sizeof(PieceBody)));
  fetched->pieces.reserve(fetched->pieces.size() + count);
  for (PieceBody body{}; bodies.get(&body);) {
    if (!sensible(body.range, window)) return nonsense();
    const auto data = reader.get_bytes(body.range.bytes());
    if (!reader.ok()) return nonsense();
    fetched->pieces.push_back({body.range, body.stamp, static_cast<uint32_t>(body.rank), data.data()});
  }
  return {};
}

Result<Fetched> fetch_pieces(Leaders& leaders, uint64_t file, uint64_t round, uint64_t window,
                             std::span<const uint32_t> nodes) {
  Fetched fetched;
  PMIO_TRY(leaders.ask_in_parts(
      nodes, Request::pieces,
      [&](NextPart from) {
        return MessageWriter().put(file).put(PiecesBody{round, window, from});
      },
      [&](uint32_t, std::vector<std::byte> answer) {
        return take_pieces(window, std::move(answer), &fetched);
      }));
  return fetched;
}

}  // namespace pmio
