// A run once more with other settings of the log: a fluid model over what the run did, step by step.
//
// The drain takes the bytes out of a node's log at the rate that was measured: in pauses of the program, and
// always if the log is half full. Calls wait if it is full, and a close until it is empty. Pure functions;
// threads: any.
#pragma once

#include "advise/record.h"
#include "model/machine.h"

namespace pmio::advise {

struct LogSettings {
  double capacity_bytes = 0;  // of a node
  bool closes_in_background = false;
  bool drains_in_background = true;
};

LogSettings settings_of(const JobRecord& job);

// Waits for room, in closes, and at the end of the run for what is still in the log. Seconds.
struct Waits {
  double room_seconds = 0, close_seconds = 0, end_seconds = 0;
  double most_bytes = 0;  // that the node's log held
};
// All ranks of a node are taken to do what this one did. Needs drain_bytes and drain_seconds above 0.
Waits replay(const JobRecord& job, const LogSettings& settings, const model::LogMedium& log);

}  // namespace pmio::advise
