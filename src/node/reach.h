// How far a file reaches: over the processes of this node (Alone), or over several nodes (span/spanning.h).
// All that differs between the two is here.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/status.h"
#include "drain/interval.h"
#include "drain/target.h"
#include "extent/pattern.h"
#include "log/nodes_note.h"

namespace pmio {

struct FileParts;

// Of a question to other nodes, and so of each part of a direct write.
constexpr size_t kMostRangesAsked = 32768;

// Which records a drain brings into the file. None of them waits for ranks of this node.
enum class DrainScope {
  published,    // all that was published on this node before. Several nodes: of calls that this rank has
                // finished
  room,         // what has to be in the file before a segment of this rank can be free again
  everywhere,   // `published`; several nodes: of all nodes, and what they have written past their logs is
                // synced
  for_library,  // `everywhere`, before the MPI library's own call reads the file
  for_library_write,  // the same, before such a call may write it
  possible,           // what can be, without waiting for ranks of other nodes that have not come so far
};

// How a file of several nodes is left at its last close, between the drains and the first release. Put
// together by the maximum of each number over all ranks, of which one decides; if that has set rests, it is
// for Closing::release.
struct RestingState {
  uint64_t known = 0, uncertain = 0;      // stamps of records that others know of, and may have changed
  uint64_t rests = 0, set_back = 0;       // by who decides: it may rest; its times have been set back
  uint64_t size_bytes = 0, mtime_ns = 0;  // by who decides
};

class Reach {
 public:
  virtual ~Reach() = default;
  Reach(const Reach&) = delete;
  Reach& operator=(const Reach&) = delete;

  Span span() const { return span_; }
  bool spans_nodes() const { return span_ != kThisNode; }
  // By which the nodes name the file; 0: no name yet, or not needed.
  virtual uint64_t number() const { return 0; }

  // The file has been attached to, and nobody has written it yet; an error: it cannot be logged.
  virtual Status attached() { return {}; }
  // Recovery will know on which nodes the file's ranks are.
  virtual Status note_nodes() { return {}; }

  virtual Status drain(DrainScope scope) = 0;
  // What this process would have to drain before it ends is in the file.
  virtual bool is_drained() const = 0;

  // Before bytes are read, of these ranges. *end: of the file, as far as that is known without a look at it.
  virtual Status before_read(std::span<const Vector> ranges, uint64_t* end) = 0;
  // The same, of the next bytes of a cursor.
  virtual Status before_read(PatternCursor file, uint64_t bytes, uint64_t* end) = 0;
  // Between these two the target is read, past what may be old (read_target).
  virtual Status begin_reading_target() { return {}; }
  virtual void end_reading_target() {}
  // sparse: only a part of the bytes is wanted, so that other ranks may want the rest.
  virtual Status read_target(uint64_t offset, std::byte* to, uint64_t bytes, bool sparse, uint64_t* got) = 0;

  // Around a write that goes past the log, and before each part of it.
  virtual Status begin_direct_write() = 0;
  virtual Status before_direct_write(std::span<const Vector> ranges) = 0;
  virtual void end_direct_write() = 0;

  // Size of the target, without what is logged here and not drained.
  virtual Result<uint64_t> target_bytes() const = 0;
  // As far as other nodes know.
  virtual Result<uint64_t> bytes_elsewhere() = 0;

  // The target has been synced: what others see and have done from now on.
  virtual void synced() = 0;
  // Somebody has written the target behind the log's back.
  virtual void note_foreign_write() = 0;
  virtual void forget_elsewhere() = 0;
  // The target has been truncated.
  virtual void note_truncation() = 0;
  virtual void truncated_elsewhere() = 0;
  // Nothing that was logged so far will be drained or replayed. Durable on return.
  virtual Status discard() = 0;

  // Whether the file may rest when it is released; false: nothing is left to serve.
  virtual bool rests_as(const RestingState& /*resting*/) { return false; }
  // The target of a file that rests is laid down, and taken up again.
  virtual void lay_down() {}
  virtual void take_up(std::unique_ptr<TargetFile> /*target*/) {}
  // A close has failed: it does not count as having rested.
  virtual void stays_open() {}

 protected:
  explicit Reach(Span span) : span_(span) {}

 private:
  const Span span_;
};

// Makes the reach of a file that is just being opened; the file outlives it. By default that of this node's
// files.
struct ReachMaker {
  Span span = kThisNode;
  std::function<std::unique_ptr<Reach>(FileParts&)> make = {};
  bool spans_nodes() const { return span != kThisNode; }
};

}  // namespace pmio
