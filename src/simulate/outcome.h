// What a simulation tells of one way of writing. Threads: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pmio::simulate {

enum class Way { two_phase, independent, log };
const char* name_of(Way way);

// Times since the program began.
struct Checkpoint {
  double begun = 0;    // the first call to write it; it holds the program's state of then
  double written = 0;  // the program goes on
  double in_file = 0;  // all of it is in the file
};

// From then on a node holds so many bytes that are acknowledged and in no file.
struct Held {
  double since = 0;
  double bytes = 0;
};

struct Rounds {  // of pmio's log
  uint64_t count = 0;
  double seconds = 0;            // of all rounds together, without the writes
  double messages = 0;           // that node 0 sends
  double sent_bytes = 0;         // by node 0
  double coordinator_bytes = 0;  // of memory on node 0, at most
  double questions = 0;          // that a leader answers at a close
  double question_seconds = 0;   // of a close
  double descriptors = 0;        // that a leader reserves
};

struct Outcome {
  Way way = Way::log;
  std::string not_logged;  // why pmio would log nothing here; empty: it would
  std::vector<Checkpoint> checkpoints;
  double seconds = 0;              // until all is in the file, and the program over
  double computing_seconds = 0;    // of it
  uint64_t written_bytes = 0;      // to the file, by all nodes
  double server_work_seconds = 0;  // of all servers together
  double servers = 1;
  double log_wait_seconds = 0;  // of it, for room in the log
  double most_held_bytes = 0;   // in the log of a node, records included
  std::vector<Held> held;
  Rounds rounds{};
  uint64_t events = 0;

  // Of a checkpoint, on average and at most.
  double to_log_seconds() const;
  double most_to_log_seconds() const;
  double to_file_seconds() const;
  double most_to_file_seconds() const;
  double waiting_seconds() const { return seconds - computing_seconds; }
  double utilisation() const { return server_work_seconds / (servers * seconds); }
};

}  // namespace pmio::simulate
