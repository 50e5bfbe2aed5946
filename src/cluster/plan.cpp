#include "cluster/plan.h"

#include <algorithm>

namespace pmio {
namespace {

bool in_window(const Interval& piece, uint64_t window) {
  return piece.begin < piece.end && piece.begin / kWindowBytes == window &&
         (piece.end - 1) / kWindowBytes == window;
}

}  // namespace

Status RoundPlan::read(std::span<const std::vector<std::byte>> answers) {
  for (uint32_t node = 0; node < answers.size(); node++) {
    MessageReader reader(answers[node]);
    uint64_t windows = 0;
    if (!reader.get(&windows)) return nonsense();
    for (uint64_t i = 0; i < windows; i++) {
      Part part;
      part.node = node;
      uint64_t exact = 0;
      if (!reader.get(&part.window) || !reader.get(&exact) || !reader.get_list(&part.pieces))
        return nonsense();
      for (const Interval& piece : part.pieces)
        if (!in_window(piece, part.window)) return nonsense();
      if (part.pieces.empty()) return nonsense();
      part.exact = exact != 0;
      parts_.push_back(std::move(part));
    }
  }
  std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
    return a.window != b.window ? a.window < b.window : a.node < b.node;
  });
  return {};
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

template <class Visit>
void RoundPlan::for_each_window(const Visit& visit) const {
  for (size_t i = 0; i < parts_.size();) {
    size_t end = i;
    while (end < parts_.size() && parts_[end].window == parts_[i].window) end++;
    visit(std::span<const Part>(parts_).subspan(i, end - i));
    i = end;
  }
}

// Whether the pieces of different nodes overlap, as far as they are known. Tiny pieces, told as one span, are
// better written by one node even where they only interleave.
bool RoundPlan::mix(std::span<const Part> parts) {
  struct Owned {
    Interval piece;
    uint32_t node;
  };
  std::vector<Owned> all;
  for (const Part& part : parts)
    for (const Interval& piece : part.pieces) all.push_back({piece, part.node});
  std::sort(all.begin(), all.end(),
            [](const Owned& a, const Owned& b) { return a.piece.begin < b.piece.begin; });
  // The pieces of one node do not overlap, so that an overlap of two nodes shows between neighbours.
  for (size_t i = 1; i < all.size(); i++)
    if (all[i].piece.begin < all[i - 1].piece.end) return true;
  return false;
}

MessageWriter RoundPlan::work(uint64_t file, uint64_t round) const {
  std::vector<std::span<const Part>> shared;
  for_each_window([&](std::span<const Part> parts) {
    if (parts.size() >= 2 && mix(parts)) shared.push_back(parts);
  });
  MessageWriter message;
  message.put(file).put(round);
  for (size_t i = 0; i < shared.size(); i++) {
    std::vector<uint32_t> nodes;
    for (const Part& part : shared[i]) nodes.push_back(part.node);
    // Windows that follow each other are of one node, those of two nodes far apart: on other servers.
    const uint32_t owner = nodes[i * nodes.size() / shared.size()];
    message.put(ShareBody{shared[i].front().window, owner}).put_list(std::span<const uint32_t>(nodes));
  }
  return message;
}

std::vector<MessageWriter> RoundPlan::finish(uint64_t file, uint64_t round) const {
  std::vector<std::vector<NodeRound::Foreign>> foreign(nodes_);
  for_each_window([&](std::span<const Part> parts) {
    const uint64_t window = parts.front().window;
    const bool mixed = std::binary_search(mixed_.begin(), mixed_.end(), window);
    for (uint32_t node = 0; node < nodes_; node++) {
      NodeRound::Foreign others{window, UINT64_MAX, 0, mixed};
      for (const Part& part : parts) {
        if (part.node == node) continue;
        others.begin = std::min(others.begin, part.pieces.front().begin);
        for (const Interval& piece : part.pieces) others.end = std::max(others.end, piece.end);
      }
      if (others.begin < others.end) foreign[node].push_back(others);
    }
  });
  std::vector<MessageWriter> messages(nodes_);
  for (uint32_t node = 0; node < nodes_; node++)
    messages[node].put(file).put(round).put_list(std::span<const NodeRound::Foreign>(foreign[node]));
  return messages;
}

}  // namespace pmio
