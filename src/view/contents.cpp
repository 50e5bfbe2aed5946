#include "view/contents.h"

#include "view/mpi_calls.h"

namespace pmio {
namespace {

struct Envelope {
  int64_t integers = 0;
  int64_t addresses = 0;
  int64_t large_counts = 0;
  int64_t types = 0;
  int combiner = MPI_COMBINER_NAMED;
};

bool get_envelope(MPI_Datatype type, Envelope* envelope) {
#if MPI_VERSION >= 4
  if (mpi_calls().Type_get_envelope_c != nullptr) {
    MPI_Count integers = 0, addresses = 0, large_counts = 0, types = 0;
    int combiner = 0;
    if (mpi_calls().Type_get_envelope_c(type, &integers, &addresses, &large_counts, &types, &combiner) !=
        MPI_SUCCESS) {
      return false;
    }
    *envelope = {integers, addresses, large_counts, types, combiner};
    return true;
  }
#endif
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  if (mpi_calls().Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS)
    return false;
  *envelope = {integers, addresses, 0, types, combiner};
  return true;
}

struct RawContents {
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Count> large_counts;
};

bool get_raw(MPI_Datatype type, const Envelope& envelope, RawContents* raw,
             std::vector<MPI_Datatype>* types) {
  // One spare element each: some MPIs reject null pointers for empty arrays.
  raw->integers.resize(envelope.integers + 1);
  raw->addresses.resize(envelope.addresses + 1);
  raw->large_counts.resize(envelope.large_counts + 1);
  types->resize(envelope.types + 1);
  int error = MPI_SUCCESS;
#if MPI_VERSION >= 4
  if (mpi_calls().Type_get_contents_c != nullptr) {
    error = mpi_calls().Type_get_contents_c(type, envelope.integers, envelope.addresses,
                                            envelope.large_counts, envelope.types, raw->integers.data(),
                                            raw->addresses.data(), raw->large_counts.data(), types->data());
  } else
#endif
  {
    error = mpi_calls().Type_get_contents(
        type, static_cast<int>(envelope.integers), static_cast<int>(envelope.addresses),
        static_cast<int>(envelope.types), raw->integers.data(), raw->addresses.data(), types->data());
  }
  raw->integers.resize(envelope.integers);
  raw->addresses.resize(envelope.addresses);
  raw->large_counts.resize(envelope.large_counts);
  types->resize(error == MPI_SUCCESS ? envelope.types : 0);
  return error == MPI_SUCCESS;
}

// Large counts replace the arguments that are MPI_Count in the _c constructor; what stays int keeps its
// place.
std::vector<int64_t> in_argument_order(int combiner, const RawContents& raw) {
  size_t before = raw.integers.size();
  if (combiner == MPI_COMBINER_SUBARRAY && !raw.large_counts.empty()) before = 1;  // ndims
  if (combiner == MPI_COMBINER_DARRAY && !raw.large_counts.empty()) before = 3;    // size, rank, ndims
  std::vector<int64_t> result(raw.integers.begin(), raw.integers.begin() + static_cast<ptrdiff_t>(before));
  result.insert(result.end(), raw.large_counts.begin(), raw.large_counts.end());
  result.insert(result.end(), raw.integers.begin() + static_cast<ptrdiff_t>(before), raw.integers.end());
  result.insert(result.end(), raw.addresses.begin(), raw.addresses.end());
  return result;
}

bool is_predefined(int combiner) {
  switch (combiner) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    case MPI_COMBINER_VALUE_INDEX:
#endif
      return true;
    default:
      return false;
  }
}

}  // namespace

bool get_contents(MPI_Datatype type, TypeContents* contents) {
  Envelope envelope;
  if (!get_envelope(type, &envelope)) return false;
  contents->combiner = envelope.combiner;
  contents->arguments.clear();
  contents->types.clear();
  if (envelope.combiner == MPI_COMBINER_NAMED) return true;
  RawContents raw;
  if (!get_raw(type, envelope, &raw, &contents->types)) return false;
  contents->arguments = in_argument_order(envelope.combiner, raw);
  return true;
}

int get_combiner(MPI_Datatype type) {
  Envelope envelope;
  return get_envelope(type, &envelope) ? envelope.combiner : MPI_UNDEFINED;
}

void release_type(MPI_Datatype type) {
  if (!is_predefined(get_combiner(type))) mpi_calls().Type_free(&type);
}

}  // namespace pmio
