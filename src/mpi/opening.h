// The ranks of an MPI_File_open until they have a Team: who they are, and what they agree on.
//
// Their messages are part of the program's own collective call, on the communicator of the open. Threads:
// one, that of the open.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "mpi/agreement.h"
#include "mpi/library.h"
#include "mpi/team.h"

namespace pmio {

class Opening {
 public:
  // comm: of the open, or of the same ranks in the same order. It outlives this object.
  explicit Opening(MPI_Comm comm);
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  MPI_Comm comm() const { return comm_; }

  // Local, the same on all ranks.
  // Whether they all have this process's MPI_COMM_WORLD. Others were spawned, or connected to.
  bool in_one_world();
  // in_one_world: which they are there, in the order of the open; empty if this rank is alone.
  const std::vector<int>& in_world();
  // Whether they are all ranks of the job: only these know together who else has the file open.
  bool all_of_the_job();
  // Whether they are all on this rank's node.
  bool all_on_this_node();
  // Whether they are in the order of MPI_COMM_WORLD; in_one_world.
  bool is_sorted();
  // Whether they are all ranks of the job, in the order of MPI_COMM_WORLD.
  bool all_in_order();

  // Collective.
  bool on_all_ranks(bool here) const;
  // The least that a rank has; 0 if a message fails.
  int least(int here) const;
  // The least and the greatest; that of this rank and another value if a message fails.
  std::pair<int64_t, int64_t> range(int64_t here) const;
  Agreement agree(const OpenStatement& said) const;
  // A communicator of these ranks alone, which returns errors; MPI_COMM_NULL, on all ranks, if there is none.
  MPI_Comm duplicate() const;
  // The same, in the order of MPI_COMM_WORLD.
  MPI_Comm in_order();
  // in_one_world. all: of these ranks.
  Team make_team(const Agreement& all);

 private:
  // A communicator that was made; MPI_COMM_NULL, on all ranks, if one of them could not.
  MPI_Comm kept(bool made, MPI_Comm own) const;

  MPI_Comm comm_;
  int rank_ = 0, ranks_ = 1;
  std::optional<std::vector<int>> in_world_;  // members_in_world, once it has been asked for
};

}  // namespace pmio
