// The ranks that have opened a file together, from the open to the close: what they learn from each other.
//
// A file has no communicator of its own, since MPI libraries have some thousand only. All files of a job send
// their messages through one communicator. A file's tag tells its messages from those of all other open files
// (docs/decisions/0016-communicators.md). So two threads may be in calls of two files at the same time.
//
// All but the constructors is collective, and waits for the others as one dissemination does: each rank sends
// log2(ranks) messages. A team of one rank sends nothing. If a message fails, which is when a rank has died,
// the worst is returned. Threads: one at a time for each team.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "view/mpi_compat.h"

namespace pmio {

// A tag of this process, held by one team. Which one a new team has is agreed by its ranks. Threads: any.
//
// Each rank proposes a number that it has not seen yet, and the largest of all is taken. No two teams of one
// rank have the same, unless two threads of it agree at the same time, or numbers begin again at 0. In these
// cases tags_may_clash, on all ranks alike, and the ranks must find out whether all of them could take it.
class TeamTag {
 public:
  TeamTag() = default;  // none
  // None if another team has it.
  static TeamTag take(int64_t agreed);
  TeamTag(TeamTag&& other) noexcept : tag_(std::exchange(other.tag_, kNone)) {}
  TeamTag& operator=(TeamTag&& other) noexcept {
    std::swap(tag_, other.tag_);
    return *this;
  }
  ~TeamTag();

  bool taken() const { return tag_ != kNone; }
  int value() const { return tag_; }

 private:
  static constexpr int kNone = -1;
  int tag_ = kNone;
};

int64_t propose_tag();
bool tags_may_clash(int64_t agreed, bool threads_at_once);

class Team {
 public:
  // What a rank has to know of the others before they have a team: who they are.
  struct Members {
    int rank = 0, ranks = 1;         // in the communicator of the open
    std::vector<int> ahead, behind;  // world ranks of those 1, 2, 4, ... ranks up and down
  };

  Team() = default;  // of one rank
  // through: a communicator of all ranks of the job.
  Team(Members members, MPI_Comm through, TeamTag tag);

  // Nobody returns before everybody has come.
  void barrier() const;
  // Not collective, and waits for nobody: the library goes on with what has begun.
  void progress() const;
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
  TeamTag tag_;
};

// The ranks of a group in MPI_COMM_WORLD, in the group's order. Empty: some were spawned, or connected to,
// and have a world of their own. Local; the same on all of the group's ranks.
std::vector<int> ranks_in_world(MPI_Group group);
// The same of a communicator's ranks, which may be a session's.
std::vector<int> members_in_world(MPI_Comm comm);

}  // namespace pmio
