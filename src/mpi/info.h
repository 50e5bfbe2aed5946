// Hints in and out of MPI_Info objects.
#pragma once

#include "mpi/hints.h"
#include "mpi/library.h"

namespace pmio {

// An info to hand to the library: the program's own, or a copy with PMIO_HINTS' settings in it, which is
// freed with this.
class GivenInfo {
 public:
  explicit GivenInfo(MPI_Info info) : info_(info) {}
  ~GivenInfo();
  GivenInfo(const GivenInfo&) = delete;
  GivenInfo& operator=(const GivenInfo&) = delete;

  MPI_Info get() const { return info_; }
  void set(const std::string& key, const std::string& value);

 private:
  MPI_Info info_;
  bool own_ = false;
};

std::vector<HintPair> pairs_of(MPI_Info info);

// The hints for a file about to be opened, from all three sources; what PMIO_HINTS says for the MPI library
// goes into given. Bad hints are said, by the caller whose say is true.
Hints hints_for(const char* filename, MPI_Info info, bool say, GivenInfo* given);

// Reads what info says into hints; bad hints are said if say is true.
void read_info(MPI_Info info, bool say, Hints* hints);

}  // namespace pmio
