// Every data access routine of MPI-IO behind one interface: one transfer, by one of fourteen methods.
#pragma once

#include <string>
#include <vector>

#include "differential_types.h"

namespace differential {

enum class Method {
  at,
  pointer,
  shared,
  i_at,
  i_pointer,
  i_shared,  // independent
  at_all,
  all,
  ordered,
  i_at_all,
  i_all,
  split_at_all,
  split_all,
  split_ordered,  // collective
};
const char* name(Method method);
bool has_offset(Method method);
bool is_nonblocking(Method method);
Method blocking(Method method);  // the same, for one that is nonblocking

struct Transfer {
  bool write = true;
  Method method = Method::at;
  bool large_count = false;  // the _c form, where the MPI has it
  MPI_Offset offset = 0;     // etypes; only where has_offset
  int64_t bytes = 0;         // memory.size * count
  int64_t stream_start = 0;  // byte of the view's stream at which it begins; -1: not known
  int count = 0;
  DataType memory;
  std::vector<unsigned char> buffer;
  uint64_t filled = 0;  // hash of the buffer before a write
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  int error = MPI_SUCCESS;

  unsigned char* address() { return buffer.data() + kGuardBytes - memory.lowest; }
  // Allocates the buffer, with guards around the bytes that the type covers, and fills it.
  void prepare(uint64_t seed);
  // Hash of the first `length` bytes of the data stream, without holes and guards.
  uint64_t hash_stream(int64_t length);
  // True if no byte but the first `length` of the stream differs from what prepare(seed) put there.
  bool untouched_behind(int64_t length, uint64_t seed);

  static constexpr int64_t kGuardBytes = 64;
};

// Calls MPI: a blocking transfer is done on return, a nonblocking one started, a split one begun and ended.
void perform(MPI_File file, Transfer* transfer);
// Waits for all nonblocking transfers in a random way (Wait, Waitall, Waitany, Test...). Errors go to the
// transfers.
void complete(std::vector<Transfer>& transfers, Random& random);

}  // namespace differential
