// A file or directory of any file system, made of attributes, for layout providers.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "layout/storage.h"

namespace pmio {

// What was done to a fake and to what was made in it.
struct Doings {
  std::vector<std::string> asked;                            // attributes that were read
  std::vector<std::pair<std::string, std::string>> changed;  // attributes that were set
  std::vector<std::pair<std::string, int>> created;          // names and flags
  std::vector<std::pair<unsigned long, std::string>> controls;
};

class FakeStorage final : public Storage {
 public:
  using Attributes = std::map<std::string, std::string>;
  FakeStorage(std::string file_system, Attributes attributes, std::string reply = {},
              Doings* doings = nullptr)
      : file_system_(std::move(file_system)),
        attributes_(std::move(attributes)),
        reply_(std::move(reply)),
        doings_(doings) {}

  const std::string& file_system() const override { return file_system_; }
  std::string attribute(const char* name) const override {
    if (doings_ != nullptr) doings_->asked.emplace_back(name);
    const auto found = attributes_.find(name);
    return found == attributes_.end() ? std::string() : found->second;
  }
  bool set_attribute(const char* name, std::string_view value) override {
    if (doings_ != nullptr) doings_->changed.emplace_back(name, value);
    return true;
  }
  // Answers with the reply; where there is none, the argument is what is told, of 24 bytes.
  bool control(unsigned long request, void* argument) const override {
    if (doings_ != nullptr)
      doings_->controls.emplace_back(
          request, std::string(static_cast<const char*>(argument), reply_.empty() ? 24 : 0));
    std::memcpy(argument, reply_.data(), reply_.size());
    return !reply_.empty() || doings_ != nullptr;
  }
  std::unique_ptr<Storage> create(const char* name, int flags) override {
    if (doings_ == nullptr) return nullptr;
    doings_->created.emplace_back(name, flags);
    return std::make_unique<FakeStorage>(file_system_, attributes_, reply_, doings_);
  }

 private:
  std::string file_system_;
  Attributes attributes_;
  std::string reply_;
  Doings* doings_;
};

}  // namespace pmio
