// A region in memory that can crash: every store since the last fence persists, vanishes or tears, as a seed
// says.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "medium/medium.h"

namespace pmio {

class CrashRegion final : public Region {
 public:
  explicit CrashRegion(size_t size_bytes) : words_(size_bytes / 8), durable_(size_bytes) {
    data_ = reinterpret_cast<std::byte*>(words_.data());
    size_ = size_bytes;
  }

  void copy(size_t offset_bytes, const void* source, size_t length_bytes) override {
    std::memcpy(data_ + offset_bytes, source, length_bytes);
    const auto* from = static_cast<const std::byte*>(source);
    stores_.push_back({offset_bytes, std::vector<std::byte>(from, from + length_bytes), 0});
  }
  // What was stored and never flushed stays at risk through every fence.
  void flush(size_t offset_bytes, size_t length_bytes) override {
    for (Store& store : stores_) {
      const size_t begin = std::max(offset_bytes, store.offset);
      const size_t end = std::min(offset_bytes + length_bytes, store.offset + store.bytes.size());
      if (begin < end) store.flushed += end - begin;
    }
  }
  Status fence() override {
    std::vector<Store> left;
    for (Store& store : stores_) {
      if (store.flushed >= store.bytes.size())
        std::memcpy(durable_.data() + store.offset, store.bytes.data(), store.bytes.size());
      else
        left.push_back(std::move(store));
    }
    stores_ = std::move(left);
    return Status();
  }
  Status sync() override { return fence(); }

  // What a restart would find. Words of 8 bytes are atomic, as on the media that pmio supports.
  std::unique_ptr<CrashRegion> after_crash(std::mt19937_64& random) const {
    auto found = std::make_unique<CrashRegion>(size_);
    std::memcpy(found->data_, durable_.data(), size_);
    for (const Store& store : stores_) {
      const unsigned fate = random() % 3;
      if (fate == 0) continue;
      for (size_t at = 0; at < store.bytes.size();) {
        const size_t word = std::min(8 - (store.offset + at) % 8, store.bytes.size() - at);
        if (fate == 1 || random() % 2 == 0)
          std::memcpy(found->data_ + store.offset + at, store.bytes.data() + at, word);
        at += word;
      }
    }
    found->durable_.assign(found->data_, found->data_ + size_);
    return found;
  }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  struct Store {
    size_t offset;
    std::vector<std::byte> bytes;
    size_t flushed;
  };
  std::vector<uint64_t> words_;
  std::vector<std::byte> durable_;
  std::vector<Store> stores_;
};

}  // namespace pmio
