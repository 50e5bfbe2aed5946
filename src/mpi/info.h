// Hints in and out of MPI_Info objects.
#pragma once

#include <map>

#include "mpi/library.h"
#include "mpi/shared_hints.h"

namespace pmio {

// An info to hand to the library: the program's own, or a copy with the settings of MPICH_MPIIO_HINTS and
// PMIO_HINTS. The copy is
// freed with this object.
class GivenInfo {
 public:
  explicit GivenInfo(MPI_Info info) : info_(info) {}
  ~GivenInfo();
  GivenInfo(const GivenInfo&) = delete;
  GivenInfo& operator=(const GivenInfo&) = delete;

  MPI_Info get() const { return info_; }
  void set(const std::string& key, const std::string& value);
  // From now on a copy, which is empty if there was no info. False if the library cannot make one.
  bool make_own();

 private:
  MPI_Info info_;
  bool own_ = false;
};

std::vector<HintPair> pairs_of(MPI_Info info);

// Does not set what an MPI_Info cannot hold: that would end the program.
void set_in(MPI_Info info, const std::string& key, const std::string& value);

// The library's own hints, as far as the program has given them to a file.
using LibraryHints = std::map<std::string, std::string>;

// The library's hints of which info has another value than known. known gets these values.
std::vector<HintPair> news_for_library(MPI_Info info, LibraryHints* known);

// The hints for a file about to be opened, from all sources. What PMIO_HINTS has for the MPI library goes
// into given. say: whether this caller complains about bad hints.
SharedHints hints_for(const char* filename, MPI_Info info, bool say, GivenInfo* given);

// Sets the mode to off if the site does not want files of that file system logged, and the user has not asked
// for the log.
void obey_site(const char* filename, SharedHints* hints);

// Sets in hints what info has. say: complains about bad hints.
void read_info(MPI_Info info, bool say, Hints* hints);

}  // namespace pmio
