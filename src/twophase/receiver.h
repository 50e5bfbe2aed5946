// What an aggregator receives for its windows from the other nodes: at most two messages at a time, window by
// window, from the nearest node down on.
#pragma once

#include <deque>
#include <vector>

#include "twophase/call.h"

namespace pmio {

class Receiver {
 public:
  // most_bytes: of a message.
  Receiver(TwoPhaseParts& parts, const CallPlan& plan, uint64_t most_bytes)
      : parts_(parts), plan_(plan), most_bytes_(most_bytes) {}

  // The messages for a window come next; those for the one before it are all there.
  void expect(const Interval& window);
  // Whether all have come. Takes at most one of those that have: take(sender, message); no message: it is
  // lost. took: whether it did.
  template <class Take>
  bool advance(Take take, bool* took);
  uint64_t bytes() const { return bytes_; }

 private:
  struct Incoming {
    uint32_t from;
    Collective::Message message;
    std::vector<std::byte> room;
  };
  void begin_receives();

  TwoPhaseParts& parts_;
  const CallPlan& plan_;
  const uint64_t most_bytes_;
  std::deque<uint32_t> expected_;  // ranks
  std::deque<Incoming> incoming_;
  std::vector<std::vector<std::byte>> rooms_;  // not in use
  uint64_t bytes_ = 0;
};

template <class Take>
bool Receiver::advance(Take take, bool* took) {
  begin_receives();
  *took = false;
  if (incoming_.empty()) return true;
  Incoming& first = incoming_.front();
  uint64_t bytes = 0;
  const Collective::State state = parts_.collective.test(first.message, &bytes);
  if (state == Collective::State::pending) return false;
  *took = true;
  if (state == Collective::State::lost) bytes = 0;
  bytes_ += bytes;
  take(first.from, std::span<const std::byte>(first.room).first(bytes));
  rooms_.push_back(std::move(first.room));
  incoming_.pop_front();
  begin_receives();
  return incoming_.empty();
}

}  // namespace pmio
