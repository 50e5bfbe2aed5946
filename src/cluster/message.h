// What the nodes of a job ask each other, as bytes; src/peer carries them. Integers are as they lie in
// memory, because all nodes of a job run the same build.
//
//   ask        any process -> every other node's leader     Neighbours::ask
//   holdings                                                Neighbours::holdings
//   forget, truncated, discard                              likewise
//   drain_for_me   any process -> its own node's leader; the answer comes when the round is over
//   drain      a leader -> the coordinator, which is node 0's leader; likewise
//   fetch_add, store   any process -> the coordinator       a shared file pointer
//   poll, plan, write, stop_serving, finish, end   the coordinator -> every leader, in this order: a round
//              (coordinator.h); plan, write and stop_serving come as often as it takes
//   pieces     the owner of a window -> a leader, during `write`
//   contest    the registry of claims (claim_desk.h) -> the coordinator of a group: others open the file
//   declare    the coordinator of a group -> each of its leaders: it is contested. Both name the file by its
//              SharedIdentity, and are answered by a uint64_t. 1: it is open
//   alive      a leader that hears nothing of a round that it has begun -> the coordinator: does the round
//              still go on? Without a body, to any leader: does it answer at all?
#pragma once

#include <cstdint>

#include "base/byte_stream.h"
#include "base/status.h"
#include "drain/interval.h"
#include "extent/pattern.h"

namespace pmio {

enum class Request : uint32_t {
  ask = 1,
  holdings,
  forget,
  truncated,
  discard,
  drain_for_me,
  drain,
  fetch_add,
  store,
  poll,
  plan,
  write,
  pieces,
  stop_serving,
  finish,
  end,
  alive,
  contest,
  declare,
};

// Whether a request whose answer was lost may be carried out a second time.
constexpr bool may_repeat(Request kind) {
  switch (kind) {
    case Request::fetch_add:
    case Request::plan:
    case Request::write:
    case Request::finish:
    case Request::end:
      return false;
    default:
      return true;
  }
}

using MessageWriter = ByteWriter;
using MessageReader = ByteReader;

// What follows the file's number, which comes first in every request:
struct AskBody {  // then a list of Vector
  uint64_t upto;
  uint64_t purpose;  // Neighbours::Purpose
};
struct AskAnswer {  // one node's part of Neighbours::Answer
  uint64_t undrained;
  uint64_t end;
  uint64_t synced;
  uint64_t clock;
  uint64_t settled;  // Neighbours::Answer::settled, and 1; 0: nothing
};
struct DrainBody {  // of drain and drain_for_me; Neighbours::drain
  uint64_t calls;
  uint64_t all;
};
struct HoldingsBody {
  uint64_t calls;
  Interval bytes;
};
struct HoldingsAnswer {  // then a list of Vector
  uint64_t complete;
  uint64_t end;
  uint64_t synced;
};
struct PollAnswer {
  uint64_t finished;   // collective write calls, by all ranks of the node
  uint64_t begun;      // by any of them
  uint64_t clock;      // of the node's independent writes
  uint64_t undrained;  // 1: there is something to drain
};
struct SharedPointerBody {
  uint64_t epoch;
  int64_t initial;
  int64_t by;  // unused by store
};
// Each request of a round has the round's number. It may come late: if another round goes on, it is refused.
struct PlanBody {
  uint64_t horizon;
  uint64_t round;  // its number: each of the coordinator's rounds has a higher one than those before
  uint64_t from;   // the first of the node's windows that is wanted; 0 begins the round
};
// An answer that may be too large for one message begins with this. The rest is asked for `from` there on.
using NextPart = uint64_t;  // 0: that was all
struct PlanAnswer {         // then of each window its number and its list of Interval
  NextPart next;
  uint64_t windows;
};
// write: WriteBody, then a list of the node's windows that another node writes. Then come the windows that
// the node writes for others too: of each its number and the list of the others. The answer lists those of
// the latter windows in which bytes were in more than one piece.
struct WriteBody {
  uint64_t round;
  uint64_t begin, end;  // the request is about windows from begin to before end
};
// pieces: PiecesBody. Answer: NextPart, list of PieceBody, then the data of all of them.
struct PiecesBody {
  uint64_t round;
  uint64_t window;
  uint64_t from;  // the first of the window's pieces that is wanted
};
struct PieceBody {
  Vector range;
  uint64_t stamp;
  uint64_t rank;
};
// stop_serving, finish: the round's number (uint64_t), list of ChangedBody, the same for all nodes.
struct ChangedBody {
  uint64_t window;
  uint64_t begin, next_begin;  // of what all have written there, and of what all but the node `first` have
  uint64_t end, next_end;      // likewise, without the node `last`
  uint32_t first, last;        // the nodes that have written the first and the last byte
  uint64_t mixed;
};
struct EndBody {
  uint64_t round;
  uint64_t error;  // 0: the round was finished; else an errno
};
// alive: PlanBody::round. The answer is empty, or ESTALE if the coordinator leads that round no more.

// The error for a message, or for an answer, that cannot be one of these.
Status nonsense();

// Whether a piece that came from outside may be believed: it lies within a window, with its blocks in order.
bool sensible(const Vector& range, uint64_t window);

}  // namespace pmio
