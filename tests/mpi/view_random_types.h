// Random nested datatypes by seed, of every constructor and, where the MPI has them, their large-count
// variants.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace pmio::test {

struct Shape {
  bool file = false;  // a filetype: displacements ascend without overlap
};

class RandomTypes {
 public:
  RandomTypes(uint64_t seed, Shape shape) : random_(seed), shape_(shape) {}

  // A committed datatype; free it. Says in description() how it was built.
  MPI_Datatype make();
  const std::string& description() const { return description_; }
  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int one_in) { return pick(1, one_in) == 1; }

 private:
  using Numbers = std::vector<int64_t>;
  MPI_Datatype nested(int depth);
  MPI_Datatype basic();
  // What one of the constructors may take.
  struct Numbered {
    int64_t extent = 0;  // of a child
    int64_t origin = 0, count = 0, length = 0, stride = 0, byte_stride = 0, byte_origin = 0;
    Numbers any, equal;  // lengths of blocks
  };
  Numbered draw(MPI_Datatype child);
  MPI_Datatype build(int kind, MPI_Datatype child);
  MPI_Datatype build_strided(int kind, MPI_Datatype child, const Numbered& drawn);
  MPI_Datatype build_indexed(bool in_bytes, MPI_Datatype child, const Numbered& drawn);
  MPI_Datatype build_indexed_block(bool in_bytes, MPI_Datatype child, const Numbered& drawn);
  MPI_Datatype build_struct(MPI_Datatype first, MPI_Datatype second);
  MPI_Datatype build_subarray(MPI_Datatype child);
  MPI_Datatype build_darray(MPI_Datatype child);
  MPI_Datatype build_resized(MPI_Datatype child);
  // Displacements of blocks of these lengths, in units of `unit` bytes' children.
  Numbers displacements(const Numbers& lengths, int64_t unit, int64_t first);
  Numbers lengths(bool equal);
  void shuffle(Numbers& numbers);
  bool large();
  void say(const std::string& name, const Numbers& numbers);

  std::mt19937_64 random_;
  Shape shape_;
  std::string description_;
};

}  // namespace pmio::test
