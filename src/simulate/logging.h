// A program that writes its checkpoints through pmio's log, and the drain that brings them into the file in
// the background: rounds of all nodes, led by node 0. Threads: one.
#pragma once

#include "simulate/path.h"
#include "simulate/program.h"
#include "simulate/round_costs.h"
#include "simulate/writing.h"

namespace pmio::simulate {

// What each node has logged and drained so far, in bytes of the program. All nodes are alike.
class NodeLog {
 public:
  NodeLog(const Scenario& scenario, Outcome& outcome);
  uint64_t held_bytes() const { return logged_ - drained_; }
  uint64_t drained_bytes() const { return drained_; }
  bool has_room(uint64_t bytes) const { return log_bytes(held_bytes() + bytes) <= capacity_; }
  bool is_filling() const { return log_bytes(held_bytes()) > filling_; }
  // Of so many bytes of the node's ranks in so many calls, of which some touch new memory.
  double append_seconds(uint64_t bytes, double calls) const;
  void append(double now, uint64_t bytes);
  void drain(double now, uint64_t bytes);

 private:
  double log_bytes(uint64_t bytes) const { return static_cast<double>(bytes) * log_bytes_of_byte_; }

  const model::LogMedium& medium_;
  Outcome& outcome_;
  const double log_bytes_of_byte_;  // records take room, too
  const double capacity_, filling_;
  uint64_t logged_ = 0, drained_ = 0;
  double touched_;
};

class LogProgram;

class Drain final : public Actor {
 public:
  Drain(const Scenario& scenario, EventLoop& loop, Path& path, NodeLog& log, Outcome& outcome);
  void set_program(LogProgram* program) { program_ = program; }
  // The log fills, or somebody waits: a round, not at once after the last one.
  void want();
  // A checkpoint is written, up to so many bytes of each node. It is to be drained at once.
  void close(uint64_t upto_bytes);
  void wake(uint32_t what) override;

 private:
  enum What : uint32_t { kBegin, kPlanned, kWritten, kEnded };
  void begin_round();
  void write();
  void finish();
  void complete_checkpoints();
  std::vector<Writer> writers() const;

  const Scenario& scenario_;
  EventLoop& loop_;
  NodeLog& log_;
  Outcome& outcome_;
  Writing writing_;
  LogProgram* program_ = nullptr;
  bool busy_ = false;
  bool asked_ = false;  // an event comes that begins a round
  double not_before_ = 0;
  uint64_t taken_ = 0;  // bytes of each node in this round
  RoundShape shape_{};
  double ending_seconds_ = 0;     // of its messages behind the writes; on one node there are none
  std::vector<uint64_t> closed_;  // checkpoints that are not complete: up to so many bytes of each node
};

class LogProgram final : public Program {
 public:
  LogProgram(const Scenario& scenario, EventLoop& loop, NodeLog& log, Drain& drain, Outcome& outcome);
  void wake(uint32_t what) override;
  void has_room();                   // from the drain: a round has ended
  void is_complete(double seconds);  // from the drain: the oldest checkpoint is in the file

 private:
  enum What : uint32_t { kAppended = kComputed + 1, kComplete };
  uint64_t part_bytes() const;
  void append_or_wait();
  void appended();

  NodeLog& log_;
  Drain& drain_;
  uint64_t parts_;  // of a checkpoint
  uint64_t part_ = 0;
  uint64_t appended_ = 0;  // by each node, in all
  bool waits_ = false;
  double waits_since_ = 0;
  size_t complete_ = 0;  // checkpoints
};

}  // namespace pmio::simulate
