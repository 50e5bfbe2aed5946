// The ranks that have opened a file together, from the open to the close: what they learn from each other.
//
// No communicator of a file's own, of which MPI libraries have some thousand only: all files of a job send
// their messages through one, and a tag tells a file's from those of all others that are open
// (docs/decisions/0016-communicators.md). So two threads may be in calls of two files at the same time.
//
// All but the constructors, rank and ranks is collective, and waits for the others as one dissemination does:
// in log2(ranks) messages by each rank. Of one rank nothing is sent. Where a message fails, which is when a
// rank has died, the answer is the worst. Threads: one at a time for each team.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "view/mpi_compat.h"

namespace pmio {

class Team {
 public:
  // What a rank has to know of the others before they have a team: who they are.
  struct Members {
    int rank = 0, ranks = 1;         // in the communicator of the open
    std::vector<int> ahead, behind;  // world ranks of those 1, 2, 4, ... ranks up and down
  };

  Team() = default;  // of one rank
  // Gives the tag back when it goes. through: a communicator of all ranks of the job.
  Team(Members members, MPI_Comm through, int tag);
  Team(Team&& other) noexcept { *this = std::move(other); }
  Team& operator=(Team&& other) noexcept;
  ~Team();

  // Nobody returns before everybody has come.
  void barrier() const;
  bool all(bool here) const;
  // The largest of all ranks' codes: MPI_SUCCESS is the smallest.
  int worst(int code) const;
  // Each value becomes the largest that a rank has there. False: somebody cannot be reached.
  bool largest(std::span<int64_t> values) const;
  // The value of that rank.
  int64_t from(int rank, int64_t value) const;
  // The sum of what the ranks below this one have.
  int64_t sum_below(int64_t value) const;

 private:
  bool exchange(int to, const int64_t* out, int from, int64_t* in, size_t count) const;

  Members members_;
  MPI_Comm through_{};
  int tag_ = -1;
};

// The ranks of a group in MPI_COMM_WORLD, in its order. Empty: some were spawned, or connected to, and have a
// world of their own. Local; the same on all of the group's ranks.
std::vector<int> ranks_in_world(MPI_Group group);
// The same of a communicator's ranks, which may be a session's.
std::vector<int> members_in_world(MPI_Comm comm);

// Tags of this process: which one a new team has is agreed by its ranks. Threads: any.
//
// Each proposes a number that it has not seen yet, and the largest of all is taken. No two teams of one rank
// have the same, unless two threads of it agree at the same time, or numbers begin again at 0: then
// tags_may_clash, on all ranks alike, and it is to be tried whether all of them can have it.
int64_t propose_tag();
bool tags_may_clash(int64_t agreed, bool threads_at_once);
// -1: another team has it.
int take_tag(int64_t agreed);
void give_tag_back(int tag);

}  // namespace pmio
