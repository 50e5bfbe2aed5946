#include "cluster/fetch.h"

#include <cerrno>
#include <utility>

#include "peer/server.h"

namespace pmio {
namespace {

// Whoever takes so long for nothing is given up like one that says nothing.
constexpr unsigned kMostLost = 300 / kFrameSeconds;

// What one answer brings. *next: the number of the first piece that is still missing; 0: none.
Status take_pieces(const PiecesBody& wanted, std::vector<std::byte> answer, Fetched* fetched,
                   uint64_t* next) {
  fetched->bytes += answer.size();
  fetched->answers.push_back(std::move(answer));
  MessageReader reader(fetched->answers.back());
  PiecesAnswer head{};
  uint64_t count = 0;
  if (!reader.get(&head) || !reader.get(&count) || count > reader.left() / sizeof(PieceBody))
    return nonsense();
  MessageReader bodies(reader.get_bytes(count * sizeof(PieceBody)));
  fetched->pieces.reserve(fetched->pieces.size() + count);
  for (PieceBody body{}; bodies.get(&body);) {
    if (!sensible(body.range, wanted.window)) return nonsense();
    const auto data = reader.get_bytes(body.range.bytes());
    if (!reader.ok()) return nonsense();
    fetched->pieces.push_back({body.range, body.stamp, static_cast<uint32_t>(body.rank), data.data()});
  }
  if (head.next != 0 && head.next <= wanted.from) return nonsense();
  *next = head.next;
  return {};
}

}  // namespace

// A part of each at a time. A leader disconnects who takes its answer too slowly (peer/server.h), as one does
// that was stopped meanwhile: this question it may be asked again.
Result<Fetched> fetch_pieces(Leaders& leaders, uint64_t file, const PiecesBody& first,
                             std::span<const uint32_t> nodes) {
  struct Open {
    PiecesBody wanted;
    unsigned lost;  // answers to that
  };
  Fetched fetched;
  std::vector<uint32_t> asked(nodes.begin(), nodes.end());
  std::vector<Open> open(asked.size(), {first, 0});
  while (!asked.empty()) {
    std::vector<MessageWriter> questions;
    for (const Open& one : open) questions.push_back(MessageWriter().put(file).put(one.wanted));
    auto answers = leaders.ask_all(asked, Request::pieces, questions);
    size_t left = 0;
    for (size_t i = 0; i < answers.size(); i++) {
      Open one = open[i];
      if (answers[i].ok()) {
        uint64_t next = 0;
        PMIO_TRY(take_pieces(one.wanted, std::move(answers[i]).value(), &fetched, &next));
        if (next == 0) continue;
        one = {{first.round, first.window, next}, 0};
      } else if (answers[i].status().system_errno() != ECONNRESET || ++one.lost >= kMostLost) {
        return answers[i].status();
      }
      asked[left] = asked[i];
      open[left++] = one;
    }
    asked.resize(left);
    open.resize(left);
  }
  return fetched;
}

}  // namespace pmio
