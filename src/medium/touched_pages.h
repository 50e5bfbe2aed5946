// How much of a region has had its pages touched, for a writer that fills it from both ends. The first store
// to a page of memory takes a fault. Many pages at once cost less than as many faults (decision 27).
//
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "medium/medium.h"

namespace pmio {

class TouchedPages {
 public:
  TouchedPages() = default;
  explicit TouchedPages(size_t size_bytes) : front_(0), back_(size_bytes) {}

  bool all() const { return front_ >= back_; }
  // All bytes are, whatever the size.
  void set_all() { front_ = SIZE_MAX, back_ = 0; }
  // None is any more: the region's memory was given back.
  void set_none(size_t size_bytes) { front_ = 0, back_ = size_bytes; }

  // Whether bytes below `end`, or from `begin` on, are touched by who stores them next.
  bool lacks_front(size_t end) const { return end > front_ && !all(); }
  bool lacks_back(size_t begin) const { return begin < back_ && !all(); }
  // Touches them, and as much ahead of them as has been touched already, within bounds: who has written
  // little is not expected to write much.
  void touch_front(Region& region, size_t end);
  void touch_back(Region& region, size_t begin);
  // Touches the next bytes from the front.
  void touch_more(Region& region, size_t bytes);
  // So many from the front on; SIZE_MAX: all.
  size_t front() const { return all() ? SIZE_MAX : front_; }

 private:
  size_t front_ = SIZE_MAX, back_ = 0;  // [0, front_) and [back_, size) are touched
};

}  // namespace pmio
