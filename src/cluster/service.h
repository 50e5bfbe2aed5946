// What a leader answers to the other nodes. The transport's thread hands whatever may take time to four other
// threads. They are for the rounds, for questions, for the pieces of a window, and for what waits until a
// round ends.
#pragma once

#include <memory>

#include "cluster/coordinator.h"
#include "cluster/drain_desk.h"
#include "cluster/round_part.h"
#include "cluster/shared_pointers.h"
#include "cluster/task_thread.h"
#include "peer/server.h"

namespace pmio {

class Service {
 public:
  // Listens at once. Answers when `connect` has said who the others are.
  static Result<std::unique_ptr<Service>> start(Job& job, const std::string& interface,
                                                const PeerToken& token, uint32_t node,
                                                size_t most_connections);
  PeerAddress address() const { return server_->address(); }
  Status connect(const Leaders& leaders);
  ~Service();

 private:
  Service(Job& job, uint32_t node) : job_(job), node_(node) {}
  void handle(uint32_t kind, std::span<const std::byte> payload, PeerReply reply);
  int answer_alive(MessageReader body) const;  // an errno
  void take_drain(Request kind, uint64_t file, MessageReader body, PeerReply reply);
  Status serve(Request kind, uint64_t file, MessageReader body, MessageWriter* answer);
  Status answer_question(uint64_t file, MessageReader body, MessageWriter* answer);
  Status answer_holdings(uint64_t file, MessageReader body, MessageWriter* answer);
  Status answer_poll(uint64_t file, MessageWriter* answer);
  Status answer_pointer(Request kind, uint64_t handle, MessageReader body, MessageWriter* answer);
  TaskThread& thread_of(Request kind);

  Job& job_;
  const uint32_t node_;
  std::unique_ptr<Leaders> leaders_;  // for the rounds
  std::unique_ptr<RoundPart> part_;
  SharedPointers pointers_;
  std::unique_ptr<DrainDesk> desk_;
  std::unique_ptr<Coordinator> coordinator_;  // on node 0
  TaskThread rounds_{[this] { part_->look_after(); }};
  TaskThread questions_, pieces_, discards_;
  std::unique_ptr<PeerServer> server_;  // destroyed first
};

}  // namespace pmio
