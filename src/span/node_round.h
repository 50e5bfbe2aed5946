// This node's part in a round that drains a file whose ranks are on several nodes (decision 0011).
//
// The file is taken in windows of kWindowBytes. A window in which the pieces of the nodes do not mix is
// written by each for itself. Any other is written by one node, its owner. That fetches the pieces of the
// others and lets the newest win. All records with a stamp up to the horizon take part, on all nodes, and
// none beyond it. So every byte of the file is written once per round, in the order of the stamps across
// rounds.
//
// A round that is not finished has changed nothing but bytes of the target that will be written again.
// Threads: begin, finish and the destructor on one thread, which holds the file's drain_mutex all the while.
// The others are called on any, from begin to finish, each with a Stream of its own.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "drain/paint.h"
#include "drain/pieces.h"
#include "log/call_stamp.h"
#include "node/drainer.h"
#include "node/file.h"
#include "node/round_runs.h"

namespace pmio {

class NodeRound {
 public:
  // What this node will write of a window.
  struct Window {
    uint64_t number = 0;           // its first byte / kWindowBytes
    std::vector<Interval> pieces;  // all that it has; or, where `exact` is false, the span of all
    bool exact = false;
    bool whole() const;  // known to be all of its bytes
  };
  // What a thread that writes windows needs for it.
  struct Stream {
    Painter painter;
    std::vector<Interval> covered;
    std::vector<TargetFile::Block> blocks;
    std::unique_ptr<std::byte[]> window;
  };
  static constexpr size_t kMostIntervals = 64;  // of a window told exactly

  static Result<std::unique_ptr<NodeRound>> begin(const std::shared_ptr<File>& file, CallStamp horizon);
  ~NodeRound();
  NodeRound(const NodeRound&) = delete;
  NodeRound& operator=(const NodeRound&) = delete;

  const std::vector<Window>& windows() const { return windows_; }
  // How many the file has, and that of the window's first byte; modulo kMaxServers.
  uint32_t servers() const;
  uint32_t server_of(uint64_t window) const;
  // Writes a window from this node's pieces and the others'. *overlap: some byte was in more than one.
  Status write(Stream& stream, uint64_t window, std::span<const Piece> others, bool* overlap);
  // This node's pieces of a window, in an order that is the same each time.
  Status pieces(uint64_t window, std::vector<Piece>* found);
  // All that this round wrote is sent on to the file system, and on its storage.
  Status sync();

  // Others have written in the window. Drained bytes of this node are not served there any more if `mixed`,
  // or if it had any before this round.
  struct Foreign {
    uint64_t window = 0;
    uint64_t begin = 0, end = 0;
    uint64_t mixed = 0;
  };
  Status stop_serving(std::span<const Foreign> foreign);
  // That too; then the records of this round are drained, durably known. Their segments are kept until `end`:
  // as long as another node may not have finished, recovery may need them (recover/spanning.h).
  Status finish(std::span<const Foreign> foreign);
  // All nodes have finished.
  void end();

 private:
  NodeRound() = default;
  Status open(CallStamp horizon);
  Status find_windows();
  void note_truncation();

  std::shared_ptr<File> file_;
  std::unique_ptr<RobustLock> lock_;
  CallStamp horizon_ = 0;
  uint64_t began_ns_ = 0;
  uint64_t truncations_ = 0;  // FileControl::truncations, before anything is written
  uint64_t losses_ = 0;       // TargetFile::losses, before anything is written
  FileIndex::Leftover leftover_;
  std::vector<LedgerEntry> marks_;
  RoundRuns runs_;
  std::vector<Window> windows_;
};

}  // namespace pmio
