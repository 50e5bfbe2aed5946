// Hints in and out of MPI_Info objects.
#pragma once

#include <map>

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
  // From now on a copy, empty if there was none; false where the library cannot make one.
  bool make_own();

 private:
  MPI_Info info_;
  bool own_ = false;
};

std::vector<HintPair> pairs_of(MPI_Info info);

// Leaves out what an MPI_Info cannot hold: setting that would end the program.
void set_in(MPI_Info info, const std::string& key, const std::string& value);

// The library's own hints, as far as the program has given them to a file.
using LibraryHints = std::map<std::string, std::string>;

// Those that info says otherwise than known does, which then knows them.
std::vector<HintPair> news_for_library(MPI_Info info, LibraryHints* known);

// The hints for a file about to be opened, from all three sources; what PMIO_HINTS says for the MPI library
// goes into given. Bad hints are said, by the caller whose say is true.
Hints hints_for(const char* filename, MPI_Info info, bool say, GivenInfo* given);

// Off where the site does not want files of that file system logged, if the user has not asked for the log.
void obey_site(const std::string& path, Hints* hints);

// Reads what info says into hints; bad hints are said if say is true.
void read_info(MPI_Info info, bool say, Hints* hints);

}  // namespace pmio
