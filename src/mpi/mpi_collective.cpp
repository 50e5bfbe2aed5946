#include "mpi/mpi_collective.h"

#include <algorithm>

#include "medium/medium.h"
#include "mpi/agree.h"
#include "mpi/errors.h"
#include "mpi/shared_memory.h"

namespace pmio {
namespace {

// A medium keeps its regions away from the limits of the job's memory.
class LogPlace final : public SharedPlace {
 public:
  explicit LogPlace(const std::string& directory) : medium_(open_medium(directory, Durability::none)) {}
  Shared create(const std::string& name, uint64_t bytes) override {
    if (!medium_.ok()) return medium_.status();
    return memory_of(medium_.value()->create(name, bytes, false), bytes);
  }
  Shared open(const std::string& name, uint64_t bytes) override {
    if (!medium_.ok()) return medium_.status();
    return memory_of(medium_.value()->open(name, false), bytes);
  }
  void remove(const std::string& name) override {
    if (medium_.ok()) (void)medium_.value()->remove(name);
  }

 private:
  static Shared memory_of(Result<std::unique_ptr<Region>> region, uint64_t bytes) {
    if (!region.ok()) return region.status();
    const std::shared_ptr<Region> held = std::move(region).value();
    if (held->size_bytes() != bytes) return Status(Code::io, "a collective buffer has another size");
    return std::shared_ptr<std::byte>(held, held->data());
  }
  Result<std::unique_ptr<Medium>> medium_;
};

}  // namespace

MpiCollective::~MpiCollective() { mpi().Comm_free(&comm_); }

bool MpiCollective::leads_node() const {
  const std::vector<uint32_t>& nodes = members().node_of;
  const auto first = std::find(nodes.begin(), nodes.end(), nodes[members().rank]);
  return static_cast<uint32_t>(first - nodes.begin()) == members().rank;
}

Shared MpiCollective::share_in(SharedPlace& place, uint64_t bytes, bool* all) {
  const std::string name = "pmio-buffer-" + name_ + "-" + std::to_string(shared_++);
  return pmio::share_in(
      place, name, bytes, leads_node(), [this] { return mpi().Barrier(comm_) == MPI_SUCCESS; },
      [this](bool here) { return on_all_ranks(here, comm_); }, all);
}

// By the lowest rank that could not: on a node, that is the one that could not create it.
void MpiCollective::say_why_not_in_log(const Status& status) {
  const int ranks = static_cast<int>(members().ranks()), mine = static_cast<int>(members().rank);
  const int says = status.ok() ? ranks : mine;
  int least = mine;
  if (mpi().Allreduce(&says, &least, 1, MPI_INT, MPI_MIN, comm_) != MPI_SUCCESS || least != mine) return;
  complain_once("collective buffers are in memory, and not in " + log_directory_ + ": " + status.message());
}

Shared MpiCollective::share(uint64_t bytes, uint64_t) {
  bool all = false;
  if (!log_directory_.empty()) {
    LogPlace place(log_directory_);
    Shared memory = share_in(place, bytes, &all);
    if (all) return memory;
    say_why_not_in_log(memory.status());
    log_directory_.clear();
  }
  MemoryPlace place;
  Shared memory = share_in(place, bytes, &all);
  if (!all && memory.ok()) return Status(Code::io, "a rank of the file cannot have the shared memory");
  return memory;
}

Collective::Message MpiCollective::begin(Begun begun) {
  if (free_.empty()) {
    begun_.push_back(begun);
    return static_cast<Message>(begun_.size() - 1);
  }
  const Message message = free_.back();
  free_.pop_back();
  begun_[message] = begun;
  return message;
}

Collective::Message MpiCollective::send(uint32_t to, uint32_t channel, std::span<const std::byte> bytes) {
  Begun begun;
  begun.lost = mpi().Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, static_cast<int>(to),
                           static_cast<int>(channel), comm_, &begun.request) != MPI_SUCCESS;
  return begin(begun);
}

Collective::Message MpiCollective::receive(uint32_t from, uint32_t channel, std::span<std::byte> room) {
  Begun begun;
  begun.lost = mpi().Irecv(room.data(), static_cast<int>(room.size()), MPI_BYTE, static_cast<int>(from),
                           static_cast<int>(channel), comm_, &begun.request) != MPI_SUCCESS;
  return begin(begun);
}

Collective::State MpiCollective::test(Message message, uint64_t* bytes) {
  Begun& begun = begun_[message];
  int done = 1, got = 0;
  MPI_Status status;
  const bool lost = begun.lost || mpi().Test(&begun.request, &done, &status) != MPI_SUCCESS;
  if (!lost && done == 0) return State::pending;
  if (!lost && bytes != nullptr && mpi().Get_count(&status, MPI_BYTE, &got) == MPI_SUCCESS)
    *bytes = got < 0 ? 0 : static_cast<uint64_t>(got);
  free_.push_back(message);
  return lost ? State::lost : State::done;
}

// Any call that looks for messages has the library go on with all that has begun.
void MpiCollective::progress() {
  int there = 0;
  (void)mpi().Iprobe(MPI_ANY_SOURCE, static_cast<int>(kChannels), comm_, &there, MPI_STATUS_IGNORE);
}

}  // namespace pmio
