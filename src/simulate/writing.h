// Many writers that write to the file at the same time, each one request after the other.
//
// Classes of equal writers are simulated as one. If a writer has very many requests, some in a row are
// simulated as one. So a phase takes a bounded number of events, however large the job is. Threads: one.
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/event_loop.h"
#include "simulate/path.h"

namespace pmio::simulate {

struct Writer {
  uint64_t alike = 1;       // so many, which write the same at the same time
  uint64_t on_node = 1;     // of them are on one node, and share its link
  uint32_t node_class = 0;  // whose link that is
  uint64_t bytes = 0;       // of each writer
  uint64_t request_bytes = 1;
  uint64_t first_byte = 0;  // place of the first request in the file
  uint64_t span_bytes = 0;  // that the places of those that are alike are spread over
  uint64_t stride = 0;      // from the begin of a request to that of the next
  double shared = 0;        // the part of the requests whose stripe another node wrote last
  double link_factor = 1;   // bytes on the link for each byte of the file
};

class Writing {
 public:
  Writing(EventLoop& loop, Path& path, uint64_t steps, uint64_t stripe_bytes)
      : loop_(loop), path_(path), steps_(steps), stripe_bytes_(stripe_bytes) {}
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  // When all have written all, `whom` is woken. One phase at a time.
  void begin(const std::vector<Writer>& writers, Actor& whom, uint32_t what);

 private:
  enum Hop : uint32_t { kLink, kCore, kServer, kAnswered };
  class Flow final : public Actor {
   public:
    Flow(Writing& phase, const Writer& writer);
    void wake(uint32_t hop) override;

   private:
    void begin_step();
    void at_link();
    void at_core();
    void at_server();
    void go_on(double begin, double end, double next_seconds, uint32_t hop);

    Writing& phase_;
    Writer writer_;
    uint64_t requests_;  // in all
    uint64_t in_a_row_;  // in a step
    uint64_t done_ = 0;  // requests
    uint64_t left_ = 0;  // bytes, behind this step
    uint64_t step_bytes_ = 0;
    uint64_t step_ = 0;
    Path::Request request_{};
  };
  void flow_is_over();

  EventLoop& loop_;
  Path& path_;
  const uint64_t steps_, stripe_bytes_;
  std::vector<Flow> flows_;
  size_t left_ = 0;
  Actor* whom_ = nullptr;
  uint32_t what_ = 0;
};

}  // namespace pmio::simulate
