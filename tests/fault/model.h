// What a file may hold after a crash, byte by byte: what was acknowledged, and in its place, where that is
// not decided yet, what a call under way, an unsynced write or an undone truncation leaves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine.h"

namespace pmio::fault {

struct Piece {
  uint64_t offset;
  Bytes bytes;
};

class Model {
 public:
  explicit Model(Bytes content) : content_(std::move(content)), least_(content_.size()), most_(least_) {}

  // A call that writes these pieces (later ones win) has begun: any of its bytes may be there.
  void may_write(const std::vector<Piece>& pieces);
  // It has been acknowledged: all of them are.
  void must_write(const std::vector<Piece>& pieces);
  void may_truncate(uint64_t size);
  // undoable: a power failure may bring the old end back, until the file is synced.
  void must_truncate(uint64_t size, bool undoable);
  void target_synced();
  // The file is this, whatever was logged.
  void is(const Bytes& content);
  void may_be(const Bytes& content);

  // Empty if the file may be so; else what is wrong with it.
  std::string judge(const Bytes& found) const;

 private:
  struct Layer {
    Piece piece;
    bool until_sync;
  };
  void cut(uint64_t begin, uint64_t end);
  bool allowed(uint64_t at, std::byte found) const;

  Bytes content_;
  std::vector<Layer> possible_;
  std::vector<Piece> undone_;  // what the truncations since the last sync cut off
  uint64_t least_, most_;      // size in bytes
  uint64_t undone_most_ = 0;   // the size that an undone truncation leaves
};

}  // namespace pmio::fault
