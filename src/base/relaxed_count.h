// A number that one thread at a time counts up, and others may look at meanwhile. It costs what a plain
// number costs: nobody is waited for.
#pragma once

#include <atomic>
#include <cstdint>

namespace pmio {

class RelaxedCount {
 public:
  RelaxedCount(uint64_t value = 0) : value_(value) {}  // NOLINT: as a number
  RelaxedCount(const RelaxedCount& other) : value_(uint64_t{other}) {}
  RelaxedCount& operator=(const RelaxedCount& other) {
    value_.store(other, std::memory_order_relaxed);
    return *this;
  }
  operator uint64_t() const { return value_.load(std::memory_order_relaxed); }  // NOLINT: as a number
  RelaxedCount& operator+=(uint64_t by) {
    value_.store(uint64_t{*this} + by, std::memory_order_relaxed);
    return *this;
  }

 private:
  std::atomic<uint64_t> value_;
};

}  // namespace pmio
