// The ranks of an open file as collective buffering sees them (twophase/collective.h), over MPI: messages
// through a communicator of the file's own, and shared memory of a name in /dev/shm or in the log's
// directory. It has that name only until all ranks of the node have opened it.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mpi/library.h"
#include "mpi/shared_memory.h"
#include "twophase/collective.h"

namespace pmio {

class MpiCollective final : public Collective {
 public:
  // Collective over comm, which is this object's from now on. name: for the shared memory, the same on all
  // ranks of a node, and no other open file's there. log_directory: what is shared lies there, within the
  // limits that the log has; empty, or if it cannot be had there on some rank, which one rank says: /dev/shm.
  MpiCollective(Members members, MPI_Comm comm, std::string name, std::string log_directory)
      : Collective(std::move(members)),
        comm_(comm),
        name_(std::move(name)),
        log_directory_(std::move(log_directory)) {}
  // Collective.
  ~MpiCollective() override;

  Result<std::shared_ptr<std::byte>> share(uint64_t bytes, uint64_t zeroed) override;
  Message send(uint32_t to, uint32_t channel, std::span<const std::byte> bytes) override;
  Message receive(uint32_t from, uint32_t channel, std::span<std::byte> room) override;
  State test(Message message, uint64_t* bytes) override;
  void progress() override;
  // Of what is shared: whether it lies in the log's directory.
  bool is_in_log() const { return !log_directory_.empty(); }

 private:
  struct Begun {
    MPI_Request request = MPI_REQUEST_NULL;
    bool lost = false;
  };
  Message begin(Begun begun);
  bool leads_node() const;

  // all: whether all ranks have it.
  Result<std::shared_ptr<std::byte>> share_in(SharedPlace& place, uint64_t bytes, bool* all);
  void say_why_not_in_log(const Status& status);

  MPI_Comm comm_;
  const std::string name_;
  std::string log_directory_;
  uint64_t shared_ = 0;  // calls of share
  std::vector<Begun> begun_;
  std::vector<Message> free_;
};

}  // namespace pmio
