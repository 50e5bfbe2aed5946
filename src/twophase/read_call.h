// One collective read of one rank: as a keeper, windows from the file or from another node into images; from
// these its bytes into the program's buffer.
#pragma once

#include <deque>
#include <vector>

#include "twophase/call.h"
#include "twophase/package.h"
#include "twophase/receiver.h"

namespace pmio {

class ReadCall {
 public:
  ReadCall(TwoPhaseParts& parts, const CallPlan& plan, const Stream& stream);
  Status run(uint64_t* got);

 private:
  struct Taking {  // a step with the bytes that this rank takes from it
    Step step;
    Interval mine;
  };
  struct Fetching {  // a window that an aggregator of another node has been asked for
    Step step;
    std::vector<std::byte> question;
    uint64_t asked_bytes;
    Collective::Message sending, answer;
    bool sent;
  };
  struct Answering {
    Collective::Message message;
    std::vector<std::byte> answer;
  };

  void begin(const Step& step);
  void ask_for(const Step& step, const Interval& mine);
  bool is_ready(const Taking& taking);
  void take_first();
  // Each does what can be done without waiting, and says whether it did something.
  bool serve();
  bool read_window();
  bool answer();
  bool finish_answers();
  bool fetch_window();
  bool finish_fetches();

  void answer_one(const Step& step, uint32_t to, std::span<const std::byte> question);
  void took(const Fetching& fetching, Collective::State state, uint64_t bytes);
  void end_step(const Step& step, uint64_t end);
  void fail(const Step& step, const Status& status);
  bool idle() const {
    return windows_.empty() && fetches_.empty() && fetching_.empty() && answering_.empty();
  }

  TwoPhaseParts& parts_;
  const CallPlan& plan_;
  const Stream& stream_;
  const Domains domains_;
  std::deque<Taking> takings_;
  uint64_t done_ = 0;         // steps, as RankLine::done
  std::deque<Step> windows_;  // of this rank as an aggregator, that others still ask for, in order
  size_t windows_read_ = 0;   // so many of them have been read
  std::deque<Step> fetches_;  // of other nodes' aggregators, to be asked for by this rank, in order
  std::vector<Fetching> fetching_;
  std::deque<Answering> answering_;
  Receiver receiver_;
  Coverage coverage_;
  std::vector<Vector> pieces_;     // scratch
  std::vector<Interval> covered_;  // scratch
  CallResult result_;
  Status own_error_;
};

}  // namespace pmio
