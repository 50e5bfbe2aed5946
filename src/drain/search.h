// A search for callers that have a guess.
#pragma once

#include <algorithm>
#include <cstddef>

namespace pmio {

// The first index of [from, to) for which before(index) does not hold; `to` if there is none. before() must
// hold for all indices up to there, and for none from there on. It searches outwards from `near`, so that a
// near hit is cheap.
template <class Before>
size_t first_not(size_t from, size_t to, size_t near, Before before) {
  near = std::clamp(near, from, to);
  size_t low = from, high = to, step = 1;
  if (near < to && before(near)) {
    low = near + 1;
    while (to - low > step && before(low + step - 1)) low += step, step *= 2;
    high = std::min(to, low + step);
  } else {
    high = near;
    while (high - from > step && !before(high - step)) high -= step, step *= 2;
    low = high - from > step ? high - step : from;
  }
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (before(middle))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace pmio
