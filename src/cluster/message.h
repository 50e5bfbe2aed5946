// What the nodes of a job ask each other, as bytes (src/peer carries them). Integers as they lie in memory:
// all nodes of a job run the same build.
//
//   ask        any process -> every other node's leader     Neighbours::ask
//   survey                                                  Neighbours::survey
//   forget, truncated, discard                              likewise
//   drain_for_me   any process -> its own node's leader; answered when the round is over
//   drain      a leader -> the coordinator: node 0's leader; likewise
//   fetch_add, store   any process -> the coordinator       a shared file pointer
//   poll, plan, write, conceal, finish, end   the coordinator -> every leader, in this order: a round
//              (coordinator.h); of plan, write and conceal as many as it takes
//   pieces     the owner of a window -> a leader, during `write`
//   alive      a leader -> the coordinator, where it hears nothing of a round that it has begun: whether that
//              still goes on. Without a body, to any leader: whether it answers at all
#pragma once

#include <cstdint>

#include "base/byte_stream.h"
#include "base/status.h"
#include "drain/interval.h"
#include "extent/pattern.h"

namespace pmio {

enum class Request : uint32_t {
  ask = 1,
  survey,
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
  conceal,
  finish,
  end,
  alive,
};

// Whether a request may be carried out twice, one after the other, where its answer was lost.
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

// Beyond the file's number, which comes first in every request:
struct AskBody {  // then a list of Vector
  uint64_t upto;
  uint64_t purpose;  // Neighbours::Purpose
};
struct AskAnswer {  // of Neighbours::Answer, what one node knows
  uint64_t undrained;
  uint64_t end;
  uint64_t synced;
  uint64_t clock;
};
struct DrainBody {  // of both; Neighbours::drain
  uint64_t calls;
  uint64_t all;
};
struct SurveyBody {
  uint64_t calls;
  Interval bytes;
};
struct SurveyAnswer {  // then a list of Vector
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
  int64_t by;  // store: nothing
};
// Of the requests of a round each has its number, and is refused where another one goes on: it may have come
// late.
struct PlanBody {
  uint64_t cut;
  uint64_t round;  // of the coordinator's all, each higher than those before
  uint64_t from;   // of the node's windows, the first one wanted; 0 begins the round
};
// Answers for which one message may be too small begin with this, and are asked for again `from` there on.
using NextPart = uint64_t;  // 0: that was all
struct PlanAnswer {         // then of each window its number and its list of Interval
  NextPart next;
  uint64_t windows;
};
// write: WriteBody, list of those of the node's windows that another one writes; then of each that it writes
// for others too, its number and the list of these. Answer: list of the latter windows in which bytes were in
// more than one piece.
struct WriteBody {
  uint64_t round;
  uint64_t begin, end;  // it is about windows from begin to before end
};
// pieces: PiecesBody. Answer: NextPart, list of PieceBody, then the data of all of them.
struct PiecesBody {
  uint64_t round;
  uint64_t window;
  uint64_t from;  // of the window's pieces, the first one wanted
};
struct PieceBody {
  Vector range;
  uint64_t stamp;
  uint64_t rank;
};
// conceal, finish: the round's number (uint64_t), list of ChangedBody, the same for all nodes.
struct ChangedBody {
  uint64_t window;
  uint64_t begin, next_begin;  // of what all have written there; and without the node that has the first byte
  uint64_t end, next_end;      // likewise, the last byte
  uint32_t first, last;        // these nodes
  uint64_t mixed;
};
struct EndBody {
  uint64_t round;
  uint64_t error;  // 0 where the round was finished, else an errno
};
// alive: PlanBody::round. Answer: nothing; ESTALE where the coordinator leads that round no more.

// What a message that cannot be one of these is answered with, or an answer taken for.
Status nonsense();

// Whether a piece that came from outside may be believed: within a window, its blocks in order.
bool sensible(const Vector& range, uint64_t window);

}  // namespace pmio
