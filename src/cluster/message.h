// What the nodes of a job ask each other, as bytes (src/peer carries them). Integers as they lie in memory:
// all nodes of a job run the same build.
//
//   ask        any process -> every other node's leader     Neighbours::ask
//   survey                                                  Neighbours::survey
//   forget, discard                                         likewise
//   drain      any process -> the coordinator: node 0's leader; answered when the round is over
//   fetch_add, store   any process -> the coordinator       a shared file pointer
//   poll, plan, write, finish, end   the coordinator -> every leader, in this order: a round (coordinator.h)
//   pieces     the owner of a window -> a leader, during `write`
//   alive      a leader -> the coordinator, where it hears nothing of a round that it has begun; no answer
//   but
//              that
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "base/status.h"
#include "drain/interval.h"
#include "extent/pattern.h"

namespace pmio {

enum class Request : uint32_t {
  ask = 1,
  survey,
  forget,
  discard,
  drain,
  fetch_add,
  store,
  poll,
  plan,
  write,
  pieces,
  finish,
  end,
  alive,
};

class MessageWriter {
 public:
  template <class T>
  MessageWriter& put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return put_bytes(std::as_bytes(std::span(&value, 1)));
  }
  MessageWriter& put_bytes(std::span<const std::byte> more) {
    const size_t at = bytes_.size();
    bytes_.resize(at + more.size());
    if (!more.empty()) std::memcpy(bytes_.data() + at, more.data(), more.size());
    return *this;
  }
  // With its length before it.
  template <class T>
  MessageWriter& put_list(std::span<const T> list) {
    return put(uint64_t{list.size()}).put_bytes(std::as_bytes(list));
  }
  std::span<const std::byte> bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }

 private:
  std::vector<std::byte> bytes_;
};

// Every read says whether there was so much; after a false one all are false.
class MessageReader {
 public:
  explicit MessageReader(std::span<const std::byte> bytes) : left_(bytes) {}
  template <class T>
  bool get(T* value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto bytes = get_bytes(sizeof(T));
    if (ok_) std::memcpy(value, bytes.data(), sizeof(T));
    return ok_;
  }
  template <class T>
  bool get_list(std::vector<T>* list) {
    uint64_t count = 0;
    if (!get(&count) || count > left_.size() / sizeof(T)) return ok_ = false;
    list->resize(count);
    const auto bytes = get_bytes(count * sizeof(T));
    if (count > 0) std::memcpy(list->data(), bytes.data(), bytes.size());
    return true;
  }
  // Empty where there are not so many.
  std::span<const std::byte> get_bytes(size_t count) {
    ok_ = ok_ && count <= left_.size();
    if (!ok_) return {};
    const auto taken = left_.first(count);
    left_ = left_.subspan(count);
    return taken;
  }
  bool ok() const { return ok_; }
  bool done() const { return ok_ && left_.empty(); }

 private:
  std::span<const std::byte> left_;
  bool ok_ = true;
};

// Beyond the file's number, which comes first in every request:
struct AskBody {  // then a list of Vector
  uint64_t calls;
  uint64_t will_write;
};
struct AskAnswer {
  uint64_t undrained;
  uint64_t end;
};
struct SurveyBody {
  uint64_t calls;
  Interval bytes;
};
struct SurveyAnswer {  // then a list of Interval
  uint64_t complete;
  uint64_t end;
};
struct PollAnswer {
  uint64_t calls;      // finished by all ranks of the node
  uint64_t undrained;  // 1: there is something to drain
};
struct SharedPointerBody {
  uint64_t epoch;
  int64_t initial;
  int64_t by;  // store: nothing
};
// plan: the cut. Answer: per window its number, whether it is exact, and its list of Interval.
// write: per window that is shared, ShareBody and the list of the nodes that have a part of it. Answer: list
// of the windows, of those this node owns, in which bytes were in more than one piece.
struct ShareBody {
  uint64_t window;
  uint64_t owner;
};
// pieces: PiecesBody. Answer: PiecesAnswer, list of PieceBody, then the data of all of them.
struct PiecesBody {
  uint64_t window;
  uint64_t from;  // of the window's pieces, the first one wanted
};
struct PiecesAnswer {
  uint64_t next;  // the first one that had no room; 0: none
};
struct PieceBody {
  Vector range;
  uint64_t stamp;
  uint64_t rank;
};
// finish: list of NodeRound::Foreign. end: nothing where the round was finished, else an errno (uint64_t).

// What a message that cannot be one of these is answered with, or an answer taken for.
Status nonsense();

// Whether a piece that came from outside may be believed: within a window, its blocks in order.
bool sensible(const Vector& range, uint64_t window);

}  // namespace pmio
