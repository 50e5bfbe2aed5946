// What a leader answers to the other nodes. The transport's thread hands whatever may take time to four other
// threads. They are for the rounds, for questions, for the pieces of a window, and for what waits until a
// round ends. A fifth one gives files up that others open, too.
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
  struct Options {
    std::string interface;
    PeerToken token;
    uint32_t node;
    Span span;  // of whose files
    size_t most_connections;
  };
  // Listens at once. Answers when `connect` has said who the others are.
  static Result<std::unique_ptr<Service>> start(Job& job, const Options& options);
  PeerAddress address() const { return server_->address(); }
  Status connect(const Leaders& leaders);
  ~Service();

 private:
  Service(Job& job, const Options& options) : job_(job), node_(options.node), span_(options.span) {}
  void handle(uint32_t kind, std::span<const std::byte> payload, PeerReply reply);
  int answer_alive(MessageReader body) const;  // an errno
  void take_drain(Request kind, uint64_t file, MessageReader body, PeerReply reply);
  Status serve(Request kind, uint64_t file, MessageReader body, MessageWriter* answer);
  Status answer_question(uint64_t file, MessageReader body, MessageWriter* answer);
  Status answer_holdings(uint64_t file, MessageReader body, MessageWriter* answer);
  Status answer_poll(uint64_t file, MessageWriter* answer);
  Status answer_pointer(Request kind, uint64_t handle, MessageReader body, MessageWriter* answer);
  Status contest(uint64_t inode, MessageReader body, MessageWriter* answer);
  Status declare(uint64_t inode, MessageReader body, MessageWriter* answer);
  TaskThread& thread_of(Request kind);

  Job& job_;
  const uint32_t node_;
  const Span span_;
  std::unique_ptr<Leaders> leaders_;  // for the rounds
  std::unique_ptr<RoundPart> part_;
  SharedPointers pointers_;
  std::unique_ptr<DrainDesk> desk_;
  std::unique_ptr<Coordinator> coordinator_;  // on node 0
  std::unique_ptr<Leaders> for_contests_;     // likewise
  TaskThread rounds_{[this] { part_->look_after(); }};
  TaskThread questions_, pieces_, discards_;
  std::unique_ptr<TaskThread> contests_;  // once there has been one
  std::unique_ptr<PeerServer> server_;    // destroyed first
};

}  // namespace pmio
