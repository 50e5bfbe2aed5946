#include "differential_view.h"

#include <algorithm>

namespace differential {
namespace {

constexpr int64_t kFiletypeLimit = 8192;  // bytes

void set_limits(View* view, int64_t room_bytes, int ranks) {
  const int64_t tiles = std::max<int64_t>(1, room_bytes / view->filetype.extent);
  view->limit_etypes = tiles * view->filetype.size / view->etype.size;
  view->slot_etypes = std::max<int64_t>(1, view->limit_etypes / ranks);
  if (view->slot_etypes * ranks > view->limit_etypes) view->limit_etypes = view->slot_etypes * ranks;
}

}  // namespace

int64_t View::stream_bytes_below(int64_t end) const {
  int64_t low = 0, high = limit_etypes * etype.size + filetype.size;  // byte_at ascends
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (byte_at(middle) < end)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

View byte_view(int ranks) {
  View view;
  set_limits(&view, kFileLimit, ranks);
  return view;
}

View random_view(Random& shared, int rank, int ranks, bool with_darray) {
  View view;
  view.family = static_cast<Family>(shared.below(5));
  if (view.family == Family::darray && !with_darray) view.family = Family::subarray;
  view.displacement = shared.percent(40) ? 0 : shared.magnitude(100000);
  view.etype = random_etype(shared);
  int64_t room_bytes = kFileLimit - view.displacement;
  switch (view.family) {
    case Family::same:
      view.filetype = random_filetype(shared, view.etype, kFiletypeLimit);
      break;
    case Family::segment: {
      room_bytes /= ranks;
      Random own(shared.next() + static_cast<uint64_t>(rank));
      view.filetype = random_filetype(own, view.etype, kFiletypeLimit);
      view.displacement += rank * room_bytes;
      room_bytes -= kFiletypeLimit;  // a tile's end may reach over
      break;
    }
    case Family::tiles:
      view.filetype = random_filetype(shared, view.etype, kFiletypeLimit / ranks);
      view.displacement += rank * view.filetype.extent;
      view.filetype = resized(view.filetype, 0, ranks * view.filetype.extent);
      break;
    case Family::subarray:
    case Family::darray:
      view.filetype = random_array_share(shared, view.etype, rank, ranks, view.family == Family::darray);
      break;
  }
  set_limits(&view, room_bytes, ranks);
  return view;
}

void release(View* view) {
  release(&view->filetype);
  release(&view->etype);
}

}  // namespace differential
