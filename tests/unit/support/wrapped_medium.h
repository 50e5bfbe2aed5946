// A medium and a region that hand everything on to real ones: a test overrides what is to go otherwise.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "medium/medium.h"

namespace pmio::test {

class WrappedRegion : public Region {
 public:
  explicit WrappedRegion(std::unique_ptr<Region> real) : real_(std::move(real)) {
    data_ = real_->data();
    size_ = real_->size_bytes();
  }
  void copy(size_t offset_bytes, const void* source, size_t length_bytes) override {
    real_->copy(offset_bytes, source, length_bytes);
  }
  void flush(size_t offset_bytes, size_t length_bytes) override { real_->flush(offset_bytes, length_bytes); }
  Status fence() override { return real_->fence(); }
  Status sync() override { return real_->sync(); }

 protected:
  Region& real() { return *real_; }

 private:
  const std::unique_ptr<Region> real_;
};

// What not every medium can do (rename, vacate, reserve) it cannot.
class WrappedMedium : public Medium {
 public:
  explicit WrappedMedium(std::unique_ptr<Medium> real) : real_(std::move(real)) {}
  MediumKind kind() const override { return real_->kind(); }
  Durability durability() const override { return real_->durability(); }
  const std::string& directory() const override { return real_->directory(); }
  Result<std::unique_ptr<Region>> create(std::string_view name, size_t size_bytes, bool lasting) override {
    return real_->create(name, size_bytes, lasting);
  }
  Result<std::unique_ptr<Region>> open(std::string_view name, bool read_only) override {
    return real_->open(name, read_only);
  }
  Status remove(std::string_view name) override { return real_->remove(name); }
  Result<std::vector<std::string>> list() const override { return real_->list(); }

 protected:
  Medium& real() { return *real_; }

 private:
  const std::unique_ptr<Medium> real_;
};

// Opens a directory as a medium that is wrapped in one of class Wrapped, made of the real one and these
// arguments.
template <typename Wrapped, typename... Arguments>
MediumOpener open_wrapped(Arguments... arguments) {
  return [=](const std::string& directory, Durability durability) -> Result<std::unique_ptr<Medium>> {
    auto medium = open_medium(directory, durability);
    if (!medium.ok()) return medium;
    return std::unique_ptr<Medium>(new Wrapped(std::move(medium).value(), arguments...));
  };
}

}  // namespace pmio::test
