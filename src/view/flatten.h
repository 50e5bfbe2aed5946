// From a datatype's constructor calls to its byte pattern. Callers use flatten() in datatype.h, which caches.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "extent/pattern.h"
#include "view/contents.h"
#include "view/datatype.h"

namespace pmio {

// The parts of one tile, in data-stream order. More than kMaxParts, or an offset beyond int64_t, sets
// `failed`.
class PartList {
 public:
  // `count` copies of child, the i-th moved by displacement + i * distance.
  void repeat(const PartList& child, int64_t displacement, int64_t distance, int64_t count);
  void add(const Vector& part);
  void fail() { failed_ = true; }
  bool failed() const { return failed_; }
  const std::vector<Vector>& parts() const { return pattern_.parts; }
  Pattern take_pattern() { return std::move(pattern_); }

 private:
  Pattern pattern_;  // not finished
  bool failed_ = false;
};

// Flattens one datatype. Types in it that occur more than once are flattened once.
class Flattener {
 public:
  Flattener() = default;
  Flattener(const Flattener&) = delete;
  Flattener& operator=(const Flattener&) = delete;
  ~Flattener();

  // nullptr: there are more than kMaxParts parts, sizes beyond int64_t, or a constructor that pmio does not
  // know.
  std::shared_ptr<const FlatType> flatten(MPI_Datatype type);

 private:
  struct Element {
    PartList parts;
    int64_t extent = 0;
  };
  const Element& element(MPI_Datatype type);
  PartList build(MPI_Datatype type);

  // By handle, which is unique as long as the references in held_ exist.
  std::unordered_map<MPI_Datatype, Element> elements_;
  std::vector<MPI_Datatype> held_;
};

// One builder per family of constructors; arguments as in TypeContents.
PartList build_named(MPI_Datatype type);
struct ChildType {
  const PartList* parts;
  int64_t extent;
};
PartList build_blocks(int combiner, const std::vector<int64_t>& arguments,
                      const std::vector<ChildType>& children);
PartList build_subarray(const std::vector<int64_t>& arguments, const ChildType& child);
PartList build_darray(const std::vector<int64_t>& arguments, const ChildType& child);

}  // namespace pmio
