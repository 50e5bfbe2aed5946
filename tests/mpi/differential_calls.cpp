#include "differential_calls.h"

#include <algorithm>

namespace differential {
namespace {

#define PMIO_EITHER(t, suffix, ...) \
  ((t).write ? MPI_File_write##suffix(__VA_ARGS__) : MPI_File_read##suffix(__VA_ARGS__))
#define PMIO_EITHER_I(t, suffix, ...) \
  ((t).write ? MPI_File_iwrite##suffix(__VA_ARGS__) : MPI_File_iread##suffix(__VA_ARGS__))

int split(MPI_File f, Transfer& t) {
  void* b = t.address();
  MPI_Datatype m = t.memory.handle;
  int begun = 0, ended = 0;
  switch (t.method) {
    case Method::split_at_all:
      begun = PMIO_EITHER(t, _at_all_begin, f, t.offset, b, t.count, m);
      ended = PMIO_EITHER(t, _at_all_end, f, b, &t.status);
      break;
    case Method::split_all:
      begun = PMIO_EITHER(t, _all_begin, f, b, t.count, m);
      ended = PMIO_EITHER(t, _all_end, f, b, &t.status);
      break;
    default:
      begun = PMIO_EITHER(t, _ordered_begin, f, b, t.count, m);
      ended = PMIO_EITHER(t, _ordered_end, f, b, &t.status);
  }
  return begun != MPI_SUCCESS ? begun : ended;
}

int call(MPI_File f, Transfer& t) {
  void* b = t.address();
  MPI_Datatype m = t.memory.handle;
  switch (t.method) {
    case Method::at:
      return PMIO_EITHER(t, _at, f, t.offset, b, t.count, m, &t.status);
    case Method::pointer:
      return PMIO_EITHER(t, , f, b, t.count, m, &t.status);
    case Method::shared:
      return PMIO_EITHER(t, _shared, f, b, t.count, m, &t.status);
    case Method::i_at:
      return PMIO_EITHER_I(t, _at, f, t.offset, b, t.count, m, &t.request);
    case Method::i_pointer:
      return PMIO_EITHER_I(t, , f, b, t.count, m, &t.request);
    case Method::i_shared:
      return PMIO_EITHER_I(t, _shared, f, b, t.count, m, &t.request);
    case Method::at_all:
      return PMIO_EITHER(t, _at_all, f, t.offset, b, t.count, m, &t.status);
    case Method::all:
      return PMIO_EITHER(t, _all, f, b, t.count, m, &t.status);
    case Method::ordered:
      return PMIO_EITHER(t, _ordered, f, b, t.count, m, &t.status);
    case Method::i_at_all:
      return PMIO_EITHER_I(t, _at_all, f, t.offset, b, t.count, m, &t.request);
    case Method::i_all:
      return PMIO_EITHER_I(t, _all, f, b, t.count, m, &t.request);
    default:
      return split(f, t);
  }
}

#if MPI_VERSION >= 4
int call_large(MPI_File f, Transfer& t) {
  void* b = t.address();
  MPI_Datatype m = t.memory.handle;
  const MPI_Count n = t.count;
  switch (t.method) {
    case Method::at:
      return PMIO_EITHER(t, _at_c, f, t.offset, b, n, m, &t.status);
    case Method::pointer:
      return PMIO_EITHER(t, _c, f, b, n, m, &t.status);
    case Method::shared:
      return PMIO_EITHER(t, _shared_c, f, b, n, m, &t.status);
    case Method::i_at:
      return PMIO_EITHER_I(t, _at_c, f, t.offset, b, n, m, &t.request);
    case Method::i_pointer:
      return PMIO_EITHER_I(t, _c, f, b, n, m, &t.request);
    case Method::i_shared:
      return PMIO_EITHER_I(t, _shared_c, f, b, n, m, &t.request);
    case Method::at_all:
      return PMIO_EITHER(t, _at_all_c, f, t.offset, b, n, m, &t.status);
    case Method::all:
      return PMIO_EITHER(t, _all_c, f, b, n, m, &t.status);
    case Method::ordered:
      return PMIO_EITHER(t, _ordered_c, f, b, n, m, &t.status);
    case Method::i_at_all:
      return PMIO_EITHER_I(t, _at_all_c, f, t.offset, b, n, m, &t.request);
    case Method::i_all:
      return PMIO_EITHER_I(t, _all_c, f, b, n, m, &t.request);
    default:
      return split(f, t);
  }
}
#endif

struct Waiting {
  std::vector<MPI_Request> requests;
  std::vector<MPI_Status> statuses;
  std::vector<int> errors;
  int total() const { return static_cast<int>(requests.size()); }
  // The result of a call that completed all of them.
  void all_done(int error) {
    for (size_t i = 0; i < errors.size(); i++)
      errors[i] = error == MPI_ERR_IN_STATUS ? statuses[i].MPI_ERROR : error;
  }
};

void poll_until_done(Waiting& w, bool peek) {
  for (size_t i = 0; i < w.requests.size(); i++) {
    for (int done = 0; !done;) {
      if (peek)
        MPI_Request_get_status(w.requests[i], &done, MPI_STATUS_IGNORE);
      else
        w.errors[i] = MPI_Test(&w.requests[i], &done, &w.statuses[i]);
    }
    if (peek) w.errors[i] = MPI_Wait(&w.requests[i], &w.statuses[i]);
  }
}

void wait_any(Waiting& w) {
  for (int i = 0; i < w.total(); i++) {
    int which = 0;
    MPI_Status status;
    const int error = MPI_Waitany(w.total(), w.requests.data(), &which, &status);
    w.statuses[which] = status;
    w.errors[which] = error;
  }
}

void wait_some(Waiting& w) {
  for (int done = 0; done < w.total();) {
    int found = 0;
    std::vector<int> which(w.requests.size());
    std::vector<MPI_Status> some(w.requests.size());
    const int error = MPI_Waitsome(w.total(), w.requests.data(), &found, which.data(), some.data());
    for (int i = 0; i < found; i++) {
      w.statuses[which[i]] = some[i];
      w.errors[which[i]] = error == MPI_ERR_IN_STATUS ? some[i].MPI_ERROR : error;
    }
    done += found;
  }
}

void test_all(Waiting& w) {
  int error = MPI_SUCCESS;
  for (int done = 0; !done && error == MPI_SUCCESS;)
    error = MPI_Testall(w.total(), w.requests.data(), &done, w.statuses.data());
  w.all_done(error);
}

}  // namespace

const char* name(Method method) {
  static const char* const names[] = {"at",       "pointer",      "shared",    "i_at",         "i_pointer",
                                      "i_shared", "at_all",       "all",       "ordered",      "i_at_all",
                                      "i_all",    "split_at_all", "split_all", "split_ordered"};
  return names[static_cast<int>(method)];
}

bool has_offset(Method m) {
  return m == Method::at || m == Method::i_at || m == Method::at_all || m == Method::i_at_all ||
         m == Method::split_at_all;
}

bool is_nonblocking(Method m) {
  return m == Method::i_at || m == Method::i_pointer || m == Method::i_shared || m == Method::i_at_all ||
         m == Method::i_all;
}

Method blocking(Method m) {
  switch (m) {
    case Method::i_at:
      return Method::at;
    case Method::i_pointer:
      return Method::pointer;
    case Method::i_shared:
      return Method::shared;
    case Method::i_at_all:
      return Method::at_all;
    case Method::i_all:
      return Method::all;
    default:
      return m;
  }
}

void Transfer::prepare(uint64_t seed) {
  bytes = memory.size * count;
  const int64_t covered = count > 0 ? (count - 1) * memory.extent + memory.span : 0;
  buffer.resize(static_cast<size_t>(covered + 2 * kGuardBytes));
  fill_bytes(buffer.data(), buffer.size(), seed);
  if (write) filled = hash_bytes(buffer.data(), buffer.size());
}

uint64_t Transfer::hash_stream(int64_t length) {
  uint64_t hash = 0xcbf29ce484222325;
  for (int64_t i = 0; i < length; i++) hash = (hash ^ address()[memory.byte_at(i)]) * 0x100000001b3;
  return hash;
}

bool Transfer::untouched_behind(int64_t length, uint64_t seed) {
  std::vector<unsigned char> expected(buffer.size());
  fill_bytes(expected.data(), expected.size(), seed);
  const int64_t origin = kGuardBytes - memory.lowest;
  for (int64_t i = 0; i < length; i++) {
    const int64_t place = origin + memory.byte_at(i);
    expected[place] = buffer[place];
  }
  return expected == buffer;
}

void perform(MPI_File file, Transfer* transfer) {
#if MPI_VERSION >= 4
  if (transfer->large_count) {
    transfer->error = call_large(file, *transfer);
    return;
  }
#endif
  transfer->error = call(file, *transfer);
}

void complete(std::vector<Transfer>& transfers, Random& random) {
  Waiting w;
  for (const Transfer& transfer : transfers) w.requests.push_back(transfer.request);
  w.statuses.resize(transfers.size());
  w.errors.resize(transfers.size());
  switch (random.below(7)) {
    case 0:
      w.all_done(MPI_Waitall(w.total(), w.requests.data(), w.statuses.data()));
      break;
    case 1:
      wait_any(w);
      break;
    case 2:
      wait_some(w);
      break;
    case 3:
      for (int i = w.total(); i-- > 0;) w.errors[i] = MPI_Wait(&w.requests[i], &w.statuses[i]);
      break;
    case 4:
      test_all(w);
      break;
    case 5:
      poll_until_done(w, true);
      break;
    default:
      poll_until_done(w, false);
  }
  for (size_t i = 0; i < transfers.size(); i++) {
    transfers[i].status = w.statuses[i];
    if (transfers[i].error == MPI_SUCCESS) transfers[i].error = w.errors[i];
  }
}

}  // namespace differential
