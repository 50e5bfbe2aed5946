// Hints that many files have, until one of them gets others.
#pragma once

#include <memory>
#include <utility>

#include "hints/hints.h"

namespace pmio {

class SharedHints {
 public:
  SharedHints() = default;  // has none; only to be assigned to
  explicit SharedHints(Hints hints) : hints_(std::make_shared<Hints>(std::move(hints))) {}

  const Hints& operator*() const { return *hints_; }
  const Hints* operator->() const { return hints_.get(); }
  bool are(const SharedHints& others) const { return hints_ == others.hints_; }
  // Of this one alone from now on.
  Hints& change() {
    if (hints_.use_count() > 1) hints_ = std::make_shared<Hints>(*hints_);
    return *hints_;
  }

 private:
  std::shared_ptr<Hints> hints_;
};

}  // namespace pmio
