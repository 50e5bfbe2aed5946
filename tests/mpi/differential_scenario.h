// One seed: a random but deterministic sequence of MPI-IO calls, and a line in the rank's record for every
// value that MPI gave back.
//
// No data races, so that every correct MPI-IO gives the same values: between two barriers either all ranks
// read, or ranks write through one handle, whose view keeps them apart; handles of sub-communicators on one
// file take turns. Ranks mostly meet in a barrier only, without MPI_File_sync.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "differential_calls.h"
#include "differential_view.h"

namespace differential {

struct Settings {
  std::string directory;
  int operations = 40;
  bool reference =
      false;  // plain MPI-IO: what ROMIO is known to get wrong at the end of a file is not judged
  bool with_darray = true;
  // Without what Open MPI does not do right itself: atomic mode, preallocate, nonblocking reads that are
  // handed on to it.
  bool portable = false;
  // All files are opened by all ranks, never in atomic mode. For several hosts: what is handed on there,
  // ranks see as late as the file system tells them.
  bool by_all = false;
  // Not where they are ROMIO's on several hosts of MooseFS (docs/semantics.md).
  bool shared_pointers = true;
  bool consecutive = false;  // the ranks of a half; else each second one's
  bool keep_files = false;
};

// A communicator and this rank's place among its siblings (the groups of one split of the world).
struct Group {
  MPI_Comm comm = MPI_COMM_NULL;
  int count = 1;  // how many groups the world is split into
  int mine = 0;
};

struct Handle {
  MPI_File file = MPI_FILE_NULL;
  int path = 0;
  int group = 0;  // index into the scenario's groups
  int amode = 0;
  bool atomic = false;
  bool was_alone = true;  // no other handle was ever open on its file at the same time
  bool logged = false;    // pmio says that it logs this handle's writes, rather than hand the calls on
  View view;
};

class Scenario {
 public:
  Scenario(const Settings& settings, uint64_t seed, FILE* record);
  ~Scenario();
  void run();

 private:
  enum Operation {
    kWrite,
    kRead,
    kView,
    kReopen,
    kQuery,
    kResize,
    kSync,
    kOrdered,
    kTurns,
    kDelete,
    kBehind,
    kAtomic
  };

  // differential_scenario.cpp: choosing, opening, closing
  Operation choose(Random& random) const;
  void step(int index);
  void dispatch(Operation operation, Handle& handle, uint64_t seed);
  void open_one(uint64_t seed);
  void close_one(size_t index);
  void inspect_closed(int path);
  void remove_one(uint64_t seed);
  void write_behind(uint64_t seed);
  void start_epoch(bool with_size, Handle* handle);
  bool is_open(int path) const;
  // True where two groups of ranks have handles of their own on one file.
  bool takes_turns(const Handle& handle) const;
  std::string path_name(int path) const;
  int random_path(Random& random) const;
  int group_of_path(int path, Random& random) const;

  // differential_operations.cpp: what a step does
  void write(Handle& handle, Random shared, Random own);
  void read(Handle& handle, Random shared, Random own);
  void set_view(Handle& handle, Random shared);
  void query(Handle& handle, Random own);
  void resize(Handle& handle, Random shared);
  void ordered(Handle& handle, Random shared, Random own);
  void turns(Handle& handle, Random shared, Random own);
  std::vector<Transfer> plan(Handle& handle, bool write, Method method, Random& own, int transfers);
  void seek_to(Handle& handle, Transfer& first, Random& own);
  void transfer_all(Handle& handle, std::vector<Transfer>& transfers, int64_t file_size, Random& own);
  void judge(const Handle& handle, Transfer& transfer, int64_t file_size, uint64_t seed);
  bool may_share_pointer(const Handle& handle) const;
  void settle_pointer(Handle& handle, const Transfer& last, int64_t file_size);
  bool answered_by_pmio(const Handle& handle) const;
  int64_t size_of(const Handle& handle);

  void say(const char* format, ...) __attribute__((format(printf, 2, 3)));
  void check(const char* call, int error);

  const Settings& settings_;
  uint64_t seed_;
  FILE* record_;
  Random shared_;
  int rank_ = 0, ranks_ = 1;
  int step_ = 0;
  int64_t epoch_size_ = -1;  // of the file being written, at the start of the epoch; -1: not asked
  bool isolated_ = true;     // the next operation begins a new epoch
  Group groups_[3];          // world, halves, self
  std::vector<Handle> handles_;
  size_t last_handle_ = 0;
  Operation last_ = kRead;
};

}  // namespace differential
