// What serves requests in the order of their arrival: a link, the core of a network, an I/O server.
//
// A station may stand for several alike, its width, which share the requests evenly. A station of width 1 is
// exact. Threads: one.
#pragma once

#include <algorithm>

namespace pmio::simulate {

class Station {
 public:
  explicit Station(double width = 1) : width_(width) {}

  struct Served {
    double begin = 0, end = 0;
  };
  // So many requests that have arrived by now, each of so many seconds.
  Served serve(double now, double seconds, double requests) {
    const double begin = std::max(now, free_);
    const double in_turn = requests / width_;
    free_ = begin + seconds * in_turn;
    work_seconds_ += seconds * requests;
    return {begin, begin + seconds * std::max(1.0, in_turn)};
  }
  double width() const { return width_; }
  double work_seconds() const { return work_seconds_; }  // of all that it stands for together

 private:
  double width_;
  double free_ = 0;
  double work_seconds_ = 0;
};

}  // namespace pmio::simulate
