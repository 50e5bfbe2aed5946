// The greatest value that any thread or process has stored.
#pragma once

#include <atomic>

namespace pmio {

// Release: whoever sees the value sees what was stored before it.
template <class Value>
void raise_to(std::atomic<Value>& greatest, Value value) {
  Value known = greatest.load(std::memory_order_relaxed);
  while (value > known && !greatest.compare_exchange_weak(known, value, std::memory_order_release,
                                                          std::memory_order_relaxed)) {
  }
}

}  // namespace pmio
