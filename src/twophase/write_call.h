// One collective write of one rank: its bytes into the images of windows; as a keeper, the images to the file
// or to another node.
#pragma once

#include <deque>
#include <vector>

#include "twophase/call.h"
#include "twophase/package.h"
#include "twophase/receiver.h"

namespace pmio {

class WriteCall {
 public:
  WriteCall(TwoPhaseParts& parts, const CallPlan& plan, const Stream& stream);
  Status run();

 private:
  struct Sending {
    Collective::Message message;
    Step step;
  };

  void fill(const Step& step, const Interval& mine);
  static constexpr uint64_t kParts = 16;
  template <class Put>
  void put_parts(const Interval& mine, Put put) const;
  // Each does what can be done without waiting, and says whether it did something.
  bool serve();
  bool write_window();
  bool send_window();
  bool finish_sends();
  bool receive_for(const Step& step);

  const std::vector<Interval>& covered(const Step& step, std::span<const Vector> more, bool with_bits);
  void end_step(const Step& step);
  bool idle() const { return windows_.empty() && shipments_.empty() && sending_.empty(); }

  TwoPhaseParts& parts_;
  const CallPlan& plan_;
  const Stream& stream_;
  const Domains domains_;
  std::deque<Step> windows_;    // of this rank as an aggregator, in order
  std::deque<Step> shipments_;  // of other nodes' aggregators, kept by this rank, in order
  std::vector<Sending> sending_;
  Receiver receiver_;
  std::vector<Vector> received_;  // pieces of the first window that other nodes have sent
  bool received_bits_ = false;    // or they are in the window's bits
  Coverage coverage_;
  std::vector<Vector> pieces_;     // scratch
  std::vector<Interval> covered_;  // scratch
  CallResult result_;
  Status own_error_;
};

}  // namespace pmio
