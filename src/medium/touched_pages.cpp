#include "medium/touched_pages.h"

namespace pmio {

constexpr size_t kFewest = 32 << 10, kMost = 512 << 10;  // bytes at once
constexpr size_t kStep = 4 << 10;

static size_t ahead(size_t touched) { return std::clamp(touched, kFewest, kMost) / kStep * kStep; }

void TouchedPages::touch_more(Region& region, size_t bytes) {
  const size_t more = std::min(bytes, back_ - front_);
  Medium::prefault(region, front_, more);
  front_ += more;
}

void TouchedPages::touch_front(Region& region, size_t end) {
  touch_more(region, std::max(end - front_, ahead(front_)));
}

void TouchedPages::touch_back(Region& region, size_t begin) {
  const size_t more = ahead(region.size_bytes() - back_);
  const size_t from = std::max(front_, std::min(begin, back_ - std::min(back_, more)));
  Medium::prefault(region, from, back_ - from);
  back_ = from;
}

}  // namespace pmio
