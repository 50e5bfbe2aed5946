// Random file views whose ranks cannot race: within one view, different ranks write different bytes of the
// file.
#pragma once

#include "differential_types.h"

namespace differential {

constexpr int64_t kFileLimit = 24 << 20;  // bytes that no access goes beyond

// How the ranks' bytes are kept apart.
enum class Family {
  same,      // one view for all, each rank keeps to its own range of etypes
  segment,   // each rank has a range of the file of its own, and any filetype in it
  tiles,     // one filetype for all, ranks take turns in the tiles
  subarray,  // blocks of one array
  darray,    // the same, distributed
};

struct View {
  Family family = Family::same;
  int64_t displacement = 0;
  DataType etype;
  DataType filetype;
  int64_t limit_etypes = kFileLimit;  // accesses end at or before it
  int64_t slot_etypes = 0;            // Family::same: rank r writes in [r * slot, (r + 1) * slot) only

  int64_t byte_at(int64_t stream_byte) const { return displacement + filetype.byte_at(stream_byte); }
  // Stream bytes that lie below file byte `end`: where the end of the file is in the view's stream.
  int64_t stream_bytes_below(int64_t end) const;
};

View byte_view(int ranks);
// shared: in the same state on all ranks.
View random_view(Random& shared, int rank, int ranks, bool with_darray);
void release(View* view);

}  // namespace differential
