#include "cluster/fetch.h"

#include <utility>

namespace pmio {
namespace {

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

// A part of each at a time.
Result<Fetched> fetch_pieces(Leaders& leaders, uint64_t file, uint64_t window, std::vector<uint32_t> nodes) {
  Fetched fetched;
  std::vector<PiecesBody> wanted(nodes.size(), {window, 0});
  while (!nodes.empty()) {
    std::vector<MessageWriter> questions;
    for (const PiecesBody& body : wanted) questions.push_back(MessageWriter().put(file).put(body));
    auto answers = leaders.ask_all(nodes, Request::pieces, questions);
    size_t left = 0;
    for (size_t i = 0; i < answers.size(); i++) {
      if (!answers[i].ok()) return answers[i].status();
      uint64_t next = 0;
      PMIO_TRY(take_pieces(wanted[i], std::move(answers[i]).value(), &fetched, &next));
      if (next == 0) continue;
      nodes[left] = nodes[i];
      wanted[left++] = {window, next};
    }
    nodes.resize(left);
    wanted.resize(left);
  }
  return fetched;
}

}  // namespace pmio
