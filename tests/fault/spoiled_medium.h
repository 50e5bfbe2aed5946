// Writers with a known mistake, made by standing between a writer and its medium. The tests of the test use
// them: what they break must be found.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "medium/medium.h"

namespace pmio::fault {

// Hands everything on; a mistake overrides what it does wrong.
class SpoiledRegion : public Region {
 public:
  explicit SpoiledRegion(std::unique_ptr<Region> good) : good_(std::move(good)) {
    data_ = good_->data();
    size_ = good_->size_bytes();
  }
  void copy(size_t offset_bytes, const void* source, size_t length_bytes) override {
    good_->copy(offset_bytes, source, length_bytes);
  }
  void flush(size_t offset_bytes, size_t length_bytes) override { good_->flush(offset_bytes, length_bytes); }
  Status fence() override { return good_->fence(); }
  Status sync() override { return good_->sync(); }

 protected:
  std::unique_ptr<Region> good_;
};

class SpoiledMedium final : public Medium {
 public:
  using Spoil = std::function<std::unique_ptr<Region>(std::unique_ptr<Region>)>;
  // Regions whose names begin with prefix are spoiled.
  SpoiledMedium(std::unique_ptr<Medium> good, std::string prefix, Spoil spoil)
      : good_(std::move(good)), prefix_(std::move(prefix)), spoil_(std::move(spoil)) {}

  MediumKind kind() const override { return good_->kind(); }
  Durability durability() const override { return good_->durability(); }
  const std::string& directory() const override { return good_->directory(); }
  Result<std::unique_ptr<Region>> create(std::string_view name, size_t size_bytes, bool lasting) override {
    return spoiled(name, good_->create(name, size_bytes, lasting));
  }
  Result<std::unique_ptr<Region>> open(std::string_view name, bool read_only) override {
    auto region = good_->open(name, read_only);
    return read_only ? std::move(region) : spoiled(name, std::move(region));
  }
  Status remove(std::string_view name) override { return good_->remove(name); }
  Result<std::vector<std::string>> list() const override { return good_->list(); }

 private:
  Result<std::unique_ptr<Region>> spoiled(std::string_view name, Result<std::unique_ptr<Region>> region) {
    if (!region.ok() || name.substr(0, prefix_.size()) != prefix_) return region;
    return spoil_(std::move(region).value());
  }
  std::unique_ptr<Medium> good_;
  const std::string prefix_;
  const Spoil spoil_;
};

}  // namespace pmio::fault
