#include "model.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace pmio::fault {

void Model::may_write(const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) {
    possible_.push_back({piece, false});
    most_ = std::max<uint64_t>(most_, piece.offset + piece.bytes.size());
  }
}

// Nothing else is possible in [begin, end) any more.
void Model::cut(uint64_t begin, uint64_t end) {
  std::vector<Layer> left;
  for (Layer& layer : possible_) {
    const uint64_t from = layer.piece.offset;
    const uint64_t to = from + layer.piece.bytes.size();
    if (from < begin) {
      const auto n = static_cast<ptrdiff_t>(std::min(begin, to) - from);
      left.push_back({{from, {layer.piece.bytes.begin(), layer.piece.bytes.begin() + n}}, layer.until_sync});
    }
    if (to > end) {
      const auto n = static_cast<ptrdiff_t>(to - std::max(end, from));
      left.push_back(
          {{std::max(end, from), {layer.piece.bytes.end() - n, layer.piece.bytes.end()}}, layer.until_sync});
    }
  }
  possible_ = std::move(left);
}

void Model::must_write(const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) {
    const uint64_t end = piece.offset + piece.bytes.size();
    cut(piece.offset, end);
    if (content_.size() < end) content_.resize(end);
    std::memcpy(content_.data() + piece.offset, piece.bytes.data(), piece.bytes.size());
    least_ = std::max(least_, end);
    most_ = std::max(most_, end);
  }
}

void Model::may_truncate(uint64_t size) {
  if (size < content_.size()) possible_.push_back({{size, Bytes(content_.size() - size)}, false});
  least_ = std::min(least_, size);
  most_ = std::max(most_, size);
}

void Model::must_truncate(uint64_t size, bool undoable) {
  const uint64_t old = content_.size();
  Bytes cut_off;
  if (size < old) cut_off.assign(content_.begin() + static_cast<ptrdiff_t>(size), content_.end());
  std::vector<Layer> undone;
  std::copy_if(possible_.begin(), possible_.end(), std::back_inserter(undone),
               [](const Layer& layer) { return layer.until_sync; });
  cut(size, UINT64_MAX);
  content_.resize(size);
  if (undoable) {
    possible_.insert(possible_.end(), undone.begin(), undone.end());
    possible_.push_back({{size, cut_off}, true});
    undone_.push_back({size, cut_off});
    undone_most_ = std::max(undone_most_, old);
    least_ = std::min(old, size);
  } else {
    least_ = size;
  }
  most_ = size;
}

void Model::target_synced() {
  std::erase_if(possible_, [](const Layer& layer) { return layer.until_sync; });
  undone_.clear();
  undone_most_ = 0;
}

void Model::is(const Bytes& content) {
  content_ = content;
  possible_.clear();
  // What was logged over them does not count any more.
  for (const Piece& piece : undone_) possible_.push_back({piece, true});
  least_ = most_ = content.size();
}

void Model::may_be(const Bytes& content) {
  possible_.push_back({{0, content}, false});
  least_ = std::min<uint64_t>(least_, content.size());
  most_ = std::max<uint64_t>(most_, content.size());
}

bool Model::allowed(uint64_t at, std::byte found) const {
  return std::any_of(possible_.begin(), possible_.end(), [&](const Layer& layer) {
    const Piece& piece = layer.piece;
    return at >= piece.offset && at - piece.offset < piece.bytes.size() &&
           piece.bytes[at - piece.offset] == found;
  });
}

std::string Model::judge(const Bytes& found) const {
  const uint64_t most = std::max(most_, undone_most_);
  if (found.size() < least_ || found.size() > most)
    return "the file has " + std::to_string(found.size()) + " bytes, not " + std::to_string(least_) + " to " +
           std::to_string(most);
  for (uint64_t at = 0; at < found.size(); ++at) {
    const std::byte want = at < content_.size() ? content_[at] : std::byte{0};
    const std::byte got = found[at];
    if (got == want || allowed(at, got)) continue;
    return "byte " + std::to_string(at) + " is " + std::to_string(std::to_integer<int>(got)) + ", not " +
           std::to_string(std::to_integer<int>(want));
  }
  return {};
}

}  // namespace pmio::fault
