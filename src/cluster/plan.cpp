#include "cluster/plan.h"

#include <algorithm>

#include "drain/run.h"

namespace pmio {
namespace {

bool in_window(const Interval& piece, uint64_t window) {
  return piece.begin < piece.end && piece.begin / kWindowBytes == window &&
         (piece.end - 1) / kWindowBytes == window;
}

}  // namespace

Status RoundPlan::read(uint32_t node, std::span<const std::byte> answer) {
  PMIO_ASSERT(node < nodes_);
  MessageReader reader(answer);
  PlanAnswer head{};
  if (!reader.get(&head)) return nonsense();
  std::vector<Interval> pieces;
  for (uint64_t i = 0; i < head.windows; i++) {
    uint64_t window = 0;
    if (!reader.get(&window) || !reader.get_list(&pieces) || pieces.empty()) return nonsense();
    uint64_t end = 0;
    for (const Interval& piece : pieces) {
      if (!in_window(piece, window) || piece.begin < end) return nonsense();
      end = piece.end;
    }
    parts_.push_back({window, node, static_cast<uint32_t>(pieces.size()), pieces_.size()});
    pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
  }
  return {};
}

Status RoundPlan::arrange() {
  std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
    return a.window != b.window ? a.window < b.window : a.node < b.node;
  });
  const auto twice = std::adjacent_find(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
    return a.window == b.window && a.node == b.node;
  });
  return twice == parts_.end() ? Status() : nonsense();
}

Status RoundPlan::read_mixed(std::span<const std::vector<std::byte>> answers) {
  for (const auto& answer : answers) {
    std::vector<uint64_t> windows;
    MessageReader reader(answer);
    if (!reader.get_list(&windows)) return nonsense();
    mixed_.insert(mixed_.end(), windows.begin(), windows.end());
  }
  std::sort(mixed_.begin(), mixed_.end());
  return {};
}

std::span<const Interval> RoundPlan::pieces(const Part& part) const {
  PMIO_ASSERT(part.first <= pieces_.size() && part.count <= pieces_.size() - part.first);
  return std::span(pieces_).subspan(part.first, part.count);
}

std::span<const RoundPlan::Part> RoundPlan::window_at(size_t part) const {
  size_t end = part + 1;
  while (end < parts_.size() && parts_[end].window == parts_[part].window) end++;
  return std::span(parts_).subspan(part, end - part);
}

// Whether the pieces of different nodes overlap, as far as the pieces are known. Tiny pieces are told as one
// span: one node had better write them even if they only interleave.
bool RoundPlan::mix(std::span<const Part> parts) const {
  if (parts.size() < 2) return false;
  std::vector<Interval> all;
  for (const Part& part : parts) all.insert(all.end(), pieces(part).begin(), pieces(part).end());
  std::sort(all.begin(), all.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  // The pieces of one node do not overlap. So an overlap of two nodes shows between neighbours.
  return std::adjacent_find(all.begin(), all.end(), [](const Interval& a, const Interval& b) {
           return b.begin < a.end;
         }) != all.end();
}

// The shared ones of the next windows. It looks at as many windows as one request is about.
std::vector<std::span<const RoundPlan::Part>> RoundPlan::next_shared() {
  std::vector<std::span<const Part>> shared;
  for (const size_t begin = given_; more_work() && given_ - begin < most_parts_;) {
    const auto parts = window_at(given_);
    if (mix(parts)) shared.push_back(parts);
    given_ += parts.size();
  }
  return shared;
}

std::vector<MessageWriter> RoundPlan::work(uint64_t file, uint64_t round) {
  PMIO_ASSERT(given_ == 0 || more_work());
  const uint64_t begin = given_ == 0 ? 0 : parts_[given_].window;
  const auto shared = next_shared();
  const uint64_t end = more_work() ? parts_[given_].window : UINT64_MAX;
  std::vector<std::vector<uint64_t>> left(nodes_);
  std::vector<MessageWriter> owned(nodes_);
  std::vector<uint32_t> nodes;
  for (size_t i = 0; i < shared.size(); i++) {
    const uint64_t window = shared[i].front().window;
    // One node gets windows that follow each other. The windows of two nodes are far apart, on other servers.
    const uint32_t owner = shared[i][i * shared[i].size() / shared.size()].node;
    nodes.clear();
    for (const Part& part : shared[i]) {
      if (part.node == owner) continue;
      nodes.push_back(part.node);
      left[part.node].push_back(window);
    }
    owned[owner].put(window).put_list(std::span<const uint32_t>(nodes));
  }
  std::vector<MessageWriter> messages(nodes_);
  for (uint32_t node = 0; node < nodes_; node++)
    messages[node]
        .put(file)
        .put(WriteBody{round, begin, end})
        .put_list(std::span<const uint64_t>(left[node]))
        .put_bytes(owned[node].bytes());
  return messages;
}

ChangedBody RoundPlan::changed(std::span<const Part> parts) const {
  PMIO_ASSERT(!parts.empty());
  const uint64_t window = parts.front().window;
  ChangedBody all{window, UINT64_MAX, UINT64_MAX, 0,
                  0,      0,          0,          std::binary_search(mixed_.begin(), mixed_.end(), window)};
  for (const Part& part : parts) {
    const uint64_t begin = pieces(part).front().begin, end = pieces(part).back().end;
    if (begin < all.begin) {
      all.next_begin = all.begin;
      all.begin = begin;
      all.first = part.node;
    } else {
      all.next_begin = std::min(all.next_begin, begin);
    }
    if (end > all.end) {
      all.next_end = all.end;
      all.end = end;
      all.last = part.node;
    } else {
      all.next_end = std::max(all.next_end, end);
    }
  }
  return all;
}

std::vector<MessageWriter> RoundPlan::changes(uint64_t file, uint64_t round) const {
  std::vector<MessageWriter> messages;
  size_t at = 0;
  do {
    std::vector<ChangedBody> some;
    while (at < parts_.size() && some.size() < most_changed_) {
      const auto parts = window_at(at);
      some.push_back(changed(parts));
      at += parts.size();
    }
    messages.push_back(MessageWriter().put(file).put(round).put_list(std::span<const ChangedBody>(some)));
  } while (at < parts_.size());
  return messages;
}

}  // namespace pmio
