// A job whose ranks are on several nodes.
#include <algorithm>
#include <exception>
#include <utility>

#include "mpi/agree.h"
#include "mpi/errors.h"
#include "mpi/library.h"
#include "mpi/process.h"
#include "mpi/site_hints.h"

namespace pmio {

// Every rank learns its node's number, in the order of the nodes' lowest ranks. Each node has a job of its
// own.
void Process::number_node(MPI_Comm node) {
  place_.ranks.resize(static_cast<size_t>(ranks_here_));
  mpi().Allgather(&rank_, sizeof rank_, MPI_BYTE, place_.ranks.data(), sizeof rank_, MPI_BYTE, node);
  const int leads = leads_node() ? 1 : 0;
  int before = 0, all = 0;
  mpi().Exscan(&leads, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank_ == 0) before = 0;  // Exscan leaves it undefined there
  mpi().Allreduce(&leads, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  mpi().Bcast(&before, 1, MPI_INT, 0, node);
  place_.node = static_cast<uint32_t>(before);
  place_.nodes = static_cast<uint32_t>(all);
  mpi().Bcast(&id_, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  id_ = job_of_all_nodes(id_) | place_.node;
}

// Collective. A leader listens, and nobody asks anything before a file of a group is opened.
void Process::start_claims(const std::string& interface, MPI_Comm node) {
  Claims::Options options;
  options.interface = interface;
  options.node = place_.node;
  options.nodes = place_.nodes;
  options.ranks_here = static_cast<uint32_t>(ranks_here_);
  options.leader = leads_node();
  if (options.leader) options.files = node_files();
  if (rank_ == 0) options.token = random_token();
  const auto token_bytes = static_cast<int>(options.token.size());
  mpi().Bcast(options.token.data(), token_bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  std::unique_ptr<Claims> claims;
  try {
    if (auto started = Claims::start(options); started.ok()) claims = std::move(started).value();
  } catch (const std::exception&) {
    // No memory, or no thread: as if it were not there.
  }
  struct Met {
    PeerAddress coordinator, leader;
  } met;
  if (claims) met.coordinator = met.leader = claims->address();
  mpi().Bcast(&met.coordinator, sizeof met.coordinator, MPI_BYTE, 0, MPI_COMM_WORLD);
  mpi().Bcast(&met.leader, sizeof met.leader, MPI_BYTE, 0, node);
  if (!on_all_ranks(claims != nullptr, MPI_COMM_WORLD)) return;
  claims->connect(met.leader, met.coordinator);
  claims_ = std::move(claims);
}

NodeFiles Process::node_files() {
  NodeFiles files;
  files.is_open = [this](const FileIdentity& identity, Span span) {
    Job* const job = job_of_node();
    return job == nullptr || job->is_open(identity, span);
  };
  files.surrender = [this](const FileIdentity& identity, const std::string& path) {
    return surrender(identity, path);
  };
  return files;
}

// A rank that may log a file has joined the job. Null: this one cannot, and does not know what that rank
// does.
Job* Process::job_of_node() {
  if (Job* const known = joined()) return known;
  const Result<Job*> job = this->job(*site_hints(false));
  return job.ok() ? job.value() : nullptr;
}

bool Process::surrender(const FileIdentity& identity, const std::string& path) {
  Job* const job = job_of_node();
  if (job == nullptr) return true;
  if (!job->is_open(identity, kThisNode)) return false;
  const Result<std::shared_ptr<File>> file = job->find(identity, path);
  Status status = file.status();
  if (file.ok() && file.value()) status = file.value()->contest();
  if (!status.ok()) complain_once(status.message());
  return true;
}

bool Process::leads_node() const { return place_.ranks.front() == static_cast<uint32_t>(rank_); }

bool Process::is_on_this_node(uint32_t rank) const {
  return std::binary_search(place_.ranks.begin(), place_.ranks.end(), rank);
}

}  // namespace pmio
