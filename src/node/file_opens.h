// The opens of a file by this rank: recovery tells by them which calls of each handle's ranks were made.
//
// Threads: any.
#pragma once

#include <cstdint>

#include "log/segment.h"

namespace pmio {

class Appender;

class FileOpens {
 public:
  explicit FileOpens(Appender& appender) : appender_(appender) {}

  // Before the first call on a handle: its number among the opens of the job, the size of its communicator
  // and the place in it. Returns CallNumber::open for its calls; 0 while too many are open at once, and then
  // recovery knows less of them.
  uint32_t add(uint64_t number, uint32_t ranks, uint32_t rank);
  // When all ranks of the handle are in its close.
  void remove(uint32_t open);
  // A collective write call to which this rank gave no byte: recovery will know that it was made. One fence;
  // waits for nobody. If no segment is free for it, only the control block tells.
  void note_empty_call(CallNumber call);
  // The same of a call whose bytes the ranks have exchanged: whose log they are in now does not matter. The
  // appends that brought them there had CallNumber::goes_on. exchange_ns: the call's time without these.
  void note_exchanged_call(CallNumber call, uint64_t exchange_ns);

 private:
  Appender& appender_;
};

}  // namespace pmio
