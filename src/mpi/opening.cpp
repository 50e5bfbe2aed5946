#include "mpi/opening.h"

#include <algorithm>
#include <utility>

#include "mpi/agree.h"
#include "mpi/process.h"

namespace pmio {
namespace {

Team::Members members_of(const std::vector<int>& in_world, int rank) {
  const int ranks = static_cast<int>(in_world.size());
  Team::Members members{rank, ranks, {}, {}};
  for (int distance = 1; distance < ranks; distance *= 2) {
    members.ahead.push_back(in_world[static_cast<size_t>((rank + distance) % ranks)]);
    members.behind.push_back(in_world[static_cast<size_t>((rank - distance + ranks) % ranks)]);
  }
  return members;
}

}  // namespace

Opening::Opening(MPI_Comm comm) : comm_(comm) {
  if (comm == MPI_COMM_SELF) return;  // opened by the thousand
  mpi().Comm_rank(comm, &rank_);
  mpi().Comm_size(comm, &ranks_);
}

const std::vector<int>& Opening::in_world() {
  if (!in_world_) in_world_ = members_in_world(comm_);
  return *in_world_;
}

bool Opening::in_one_world() { return ranks_ == 1 || !in_world().empty(); }

bool Opening::all_of_the_job() {
  return ranks_ == Process::instance().ranks() && (ranks_ == 1 || !in_world().empty());
}

bool Opening::all_on_this_node() {
  if (ranks_ == 1) return true;
  return !in_world().empty() && std::all_of(in_world().begin(), in_world().end(), [](int rank) {
    return Process::instance().is_on_this_node(static_cast<uint32_t>(rank));
  });
}

bool Opening::is_sorted() { return std::is_sorted(in_world().begin(), in_world().end()); }

bool Opening::all_in_order() { return all_of_the_job() && (ranks_ == 1 || is_sorted()); }

bool Opening::on_all_ranks(bool here) const { return pmio::on_all_ranks(here, comm_); }

int Opening::least(int here) const {
  int all = 0;
  return mpi().Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, comm_) == MPI_SUCCESS ? all : 0;
}

std::pair<int64_t, int64_t> Opening::range(int64_t here) const {
  const int64_t mine[] = {here, -here};
  int64_t all[] = {here, -here - 1};
  mpi().Allreduce(mine, all, 2, MPI_INT64_T, MPI_MIN, comm_);
  return {all[0], -all[1]};
}

Agreement Opening::agree(const OpenStatement& said) const {
  const Agreement mine(said);
  if (ranks_ == 1) return Agreement::combine(mine, Agreement());
  Agreement all;
  const auto count = static_cast<int>(all.numbers().size());
  const int code =
      mpi().Allreduce(mine.numbers().data(), all.numbers().data(), count, MPI_INT64_T, MPI_MIN, comm_);
  if (code != MPI_SUCCESS) all.fail(rank_);
  return all;
}

MPI_Comm Opening::duplicate() const {
  MPI_Comm own = MPI_COMM_NULL;
  const bool made = mpi().Comm_dup(comm_, &own) == MPI_SUCCESS;
  return kept(made, own);
}

MPI_Comm Opening::in_order() {
  int world = 0;
  mpi().Comm_rank(MPI_COMM_WORLD, &world);
  MPI_Comm own = MPI_COMM_NULL;
  const bool made = mpi().Comm_split(comm_, 0, world, &own) == MPI_SUCCESS;
  return kept(made, own);
}

MPI_Comm Opening::kept(bool made, MPI_Comm own) const {
  if (made) mpi().Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  if (on_all_ranks(made)) return own;
  if (made) mpi().Comm_free(&own);
  return MPI_COMM_NULL;
}

Team Opening::make_team(const Agreement& all) {
  if (ranks_ == 1) return {};
  const Process& process = Process::instance();
  int64_t proposed = all.tag();
  TeamTag tag = TeamTag::take(proposed);
  while (tags_may_clash(proposed, process.threads_at_once()) && !on_all_ranks(tag.taken())) {
    tag = TeamTag();  // given back before others are proposed
    const int64_t mine = propose_tag();
    mpi().Allreduce(&mine, &proposed, 1, MPI_INT64_T, MPI_MAX, comm_);
    tag = TeamTag::take(proposed);
  }
  return {members_of(in_world(), rank_), process.comm(), std::move(tag)};
}

}  // namespace pmio
