#include "mpi/team.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "base/mutex.h"
#include "mpi/library.h"

namespace pmio {
namespace {

struct Tags {
  Mutex mutex;
  // No team of this process was ever given this number or a larger one.
  int64_t next PMIO_GUARDED_BY(mutex) = 0;
  std::unordered_set<int> taken PMIO_GUARDED_BY(mutex);
};

// Never destroyed: files may be closed by other libraries' destructors.
Tags& tags() {
  static Tags& instance = *new Tags;
  return instance;
}

// How many tags the library has; 32768 at least.
int64_t how_many_tags() {
  static const int64_t count = [] {
    int found = 0;
    int* largest = nullptr;
    mpi().Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &found);
    return found != 0 ? int64_t{*largest} + 1 : int64_t{32768};
  }();
  return count;
}

}  // namespace

int64_t propose_tag() {
  const LockGuard lock(tags().mutex);
  return tags().next++;
}

bool tags_may_clash(int64_t agreed, bool threads_at_once) {
  return threads_at_once || agreed >= how_many_tags();
}

TeamTag TeamTag::take(int64_t agreed) {
  const int tag = static_cast<int>(agreed % how_many_tags());
  TeamTag mine;
  const LockGuard lock(tags().mutex);
  tags().next = std::max(tags().next, agreed + 1);
  if (tags().taken.insert(tag).second) mine.tag_ = tag;
  return mine;
}

TeamTag::~TeamTag() {
  if (!taken()) return;
  const LockGuard lock(tags().mutex);
  tags().taken.erase(tag_);
}

std::vector<int> ranks_in_world(MPI_Group group) {
  int ranks = 0;
  mpi().Group_size(group, &ranks);
  std::vector<int> here(static_cast<size_t>(ranks)), in_world(here.size(), MPI_UNDEFINED);
  std::iota(here.begin(), here.end(), 0);
  MPI_Group world = MPI_GROUP_NULL;
  mpi().Comm_group(MPI_COMM_WORLD, &world);
  // Not by a difference of the groups: MPICH ends the program if one of them is a session's.
  mpi().Group_translate_ranks(group, ranks, here.data(), world, in_world.data());
  mpi().Group_free(&world);
  if (std::find(in_world.begin(), in_world.end(), MPI_UNDEFINED) != in_world.end()) in_world.clear();
  return in_world;
}

std::vector<int> members_in_world(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL;
  mpi().Comm_group(comm, &group);
  std::vector<int> in_world = ranks_in_world(group);
  mpi().Group_free(&group);
  return in_world;
}

Team::Team(Members members, MPI_Comm through, TeamTag tag)
    : members_(std::move(members)), through_(through), tag_(std::move(tag)) {}

bool Team::exchange(int to, const int64_t* out, int from, int64_t* in, size_t count) const {
  return mpi().Sendrecv(out, static_cast<int>(count), MPI_INT64_T, to, tag_.value(), in,
                        static_cast<int>(count), MPI_INT64_T, from, tag_.value(), through_,
                        MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

// After each round a rank knows of twice as many. That some are counted twice changes no maximum.
bool Team::largest(std::span<int64_t> values) const {
  std::vector<int64_t> theirs(values.size());
  bool reached = true;
  for (size_t i = 0; i < members_.ahead.size(); ++i) {
    reached = exchange(members_.ahead[i], values.data(), members_.behind[i], theirs.data(), theirs.size()) &&
              reached;
    for (size_t k = 0; reached && k < values.size(); ++k) values[k] = std::max(values[k], theirs[k]);
  }
  return reached;
}

void Team::barrier() const { (void)largest({}); }

void Team::progress() const {
  int there = 0;
  if (tag_.taken()) (void)mpi().Iprobe(MPI_ANY_SOURCE, tag_.value(), through_, &there, MPI_STATUS_IGNORE);
}

bool Team::all(bool here) const {
  int64_t missing[] = {here ? 0 : 1};
  return largest(missing) && missing[0] == 0;
}

int Team::worst(int code) const {
  int64_t codes[] = {code};
  const bool reached = largest(codes);
  return reached || codes[0] != MPI_SUCCESS ? static_cast<int>(codes[0]) : MPI_ERR_IO;
}

int64_t Team::from(int rank, int64_t value) const {
  int64_t values[] = {members_.rank == rank ? value : INT64_MIN};
  (void)largest(values);
  return values[0];
}

// After each round a rank knows the sum of twice as many ranks below it.
int64_t Team::sum_below(int64_t value) const {
  int64_t below = 0, with_own = value;
  for (size_t i = 0; i < members_.ahead.size(); ++i) {
    const int distance = 1 << i;
    int64_t theirs = 0;
    const int to = members_.rank + distance < members_.ranks ? members_.ahead[i] : MPI_PROC_NULL;
    const int from = members_.rank >= distance ? members_.behind[i] : MPI_PROC_NULL;
    (void)exchange(to, &with_own, from, &theirs, 1);
    below += theirs;
    with_own += theirs;
  }
  return below;
}

}  // namespace pmio
