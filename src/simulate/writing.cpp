#include "simulate/writing.h"

#include <algorithm>

#include "base/status.h"

namespace pmio::simulate {
namespace {

uint64_t requests_for(uint64_t what, uint64_t by) { return what / by + (what % by != 0 ? 1 : 0); }

}  // namespace

Writing::Flow::Flow(Writing& phase, const Writer& writer)
    : phase_(phase),
      writer_(writer),
      requests_(requests_for(writer.bytes, writer.request_bytes)),
      in_a_row_(requests_for(requests_, std::min(requests_, phase.steps_))),
      left_(writer.bytes) {
  request_.alike = writer.alike;
  request_.shared = writer.shared;
  request_.span = static_cast<double>(writer.span_bytes) / static_cast<double>(phase.stripe_bytes_);
  request_.stripes = static_cast<double>(requests_for(writer.request_bytes, phase.stripe_bytes_));
}

void Writing::Flow::begin_step() {
  const uint64_t count = std::min(in_a_row_, requests_ - done_);
  step_bytes_ = std::min(left_, count * writer_.request_bytes);
  request_.count = static_cast<double>(count);
  request_.bytes = static_cast<double>(step_bytes_);
  const uint64_t first = writer_.first_byte / phase_.stripe_bytes_;
  // Requests in a row are of many stripes. Servers take turns then.
  request_.first_stripe = in_a_row_ > 1
                              ? first + step_ * static_cast<uint64_t>(request_.stripes)
                              : (writer_.first_byte + done_ * writer_.stride) / phase_.stripe_bytes_;
  done_ += count;
  left_ -= step_bytes_;
  step_++;
  at_link();
}

// begin, end: at the station before. next_seconds: at the next one, if nobody else is there.
void Writing::Flow::go_on(double begin, double end, double next_seconds, uint32_t hop) {
  phase_.loop_.at(std::max(begin, end - next_seconds), *this, hop);
}

void Writing::Flow::at_link() {
  Path& path = phase_.path_;
  const double seconds = path.link_seconds(request_.bytes * writer_.link_factor);
  const auto served =
      path.link(writer_.node_class).serve(phase_.loop_.now(), seconds, static_cast<double>(writer_.on_node));
  if (path.has_core())
    go_on(served.begin, served.end, path.core_seconds(request_.bytes) * static_cast<double>(writer_.alike),
          kCore);
  else
    go_on(served.begin, served.end, path.server_seconds(request_), kServer);
}

void Writing::Flow::at_core() {
  Path& path = phase_.path_;
  const auto served = path.core().serve(phase_.loop_.now(), path.core_seconds(request_.bytes),
                                        static_cast<double>(writer_.alike));
  go_on(served.begin, served.end, path.server_seconds(request_), kServer);
}

void Writing::Flow::at_server() {
  Path& path = phase_.path_;
  const double end = path.serve(phase_.loop_.now(), request_);
  path.count_written(step_bytes_ * writer_.alike);
  phase_.loop_.at(end + request_.count * path.round_trip_seconds(), *this, kAnswered);
}

void Writing::Flow::wake(uint32_t hop) {
  switch (hop) {
    case kLink:
      return begin_step();
    case kCore:
      return at_core();
    case kServer:
      return at_server();
    default:
      break;
  }
  if (left_ > 0) return begin_step();
  phase_.flow_is_over();
}

void Writing::flow_is_over() {
  if (--left_ == 0) loop_.at(loop_.now(), *whom_, what_);
}

void Writing::begin(const std::vector<Writer>& writers, Actor& whom, uint32_t what) {
  PMIO_ASSERT(left_ == 0);
  whom_ = &whom;
  what_ = what;
  flows_.clear();
  for (const Writer& writer : writers)
    if (writer.bytes > 0 && writer.alike > 0) flows_.emplace_back(*this, writer);
  left_ = flows_.size();
  if (left_ == 0) return loop_.at(loop_.now(), whom, what);
  for (Flow& flow : flows_) loop_.at(loop_.now(), flow, kLink);
}

}  // namespace pmio::simulate
