// A datatype that stays usable after the program has freed its own: a duplicate, or the predefined type
// itself.
#pragma once

#include <utility>

#include "mpi/library.h"

namespace pmio {

class HeldType {
 public:
  HeldType() = default;  // holds nothing; get must not be called
  explicit HeldType(MPI_Datatype type) : type_(type), own_(!is_named(type)) {
    if (own_) own_ = mpi().Type_dup(type, &type_) == MPI_SUCCESS;
  }
  // Of a type that an MPI call has given, and that would have to be freed.
  static HeldType taken(MPI_Datatype type) {
    HeldType held;
    held.type_ = type;
    held.own_ = !is_predefined(type);
    return held;
  }
  HeldType(HeldType&& other) noexcept : type_(other.type_), own_(std::exchange(other.own_, false)) {}
  HeldType& operator=(HeldType&& other) noexcept {
    std::swap(type_, other.type_);
    std::swap(own_, other.own_);
    return *this;
  }
  ~HeldType() {
    if (own_) mpi().Type_free(&type_);
  }

  MPI_Datatype get() const { return type_; }
  // For the program, which frees it unless it is predefined.
  MPI_Datatype copy() const {
    MPI_Datatype type = type_;
    if (own_) mpi().Type_dup(type_, &type);
    return type;
  }

 private:
  static int combiner_of(MPI_Datatype type) {
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    mpi().Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner;
  }
  static bool is_named(MPI_Datatype type) { return combiner_of(type) == MPI_COMBINER_NAMED; }
  // Those of MPI_Type_create_f90_real and its like are, too.
  static bool is_predefined(MPI_Datatype type) {
    const int combiner = combiner_of(type);
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
  }

  MPI_Datatype type_{};
  bool own_ = false;
};

}  // namespace pmio
