// What the nodes of a job say to each other when pmio drains a file of several nodes: messages, bytes,
// descriptors and memory, as src/cluster and src/span have them today. Their tests compare the figures here
// with the structures there. Pure functions; threads: any.
#pragma once

#include "simulate/scenario.h"

namespace pmio::simulate {

constexpr double kWindow = 4194304;  // kWindowBytes of src/drain

// What a round finds in the logs, and how it writes that.
struct RoundShape {
  bool mixed = false;        // pieces of several nodes mix in the windows: one node writes each window
  double request_bytes = 0;  // of a write to the file
  double shared = 0;         // the part of the requests whose stripe another node wrote last
  double windows = 0;        // of all nodes together
  double parts = 0;          // what one node has of one window; of all nodes together
  double intervals = 0;      // of a part, as told in a plan
};
// node_bytes: what each node has logged.
RoundShape round_shape(const Scenario& scenario, double node_bytes);

// The messages of a round are told by one thread of node 0, one after the other (Coordinator::tell).
struct RoundMessages {
  double messages = 0;           // that node 0 sends, each with an answer
  double sent_bytes = 0;         // by node 0
  double received_bytes = 0;     // by node 0
  double coordinator_bytes = 0;  // of memory on node 0, of the plan
};
RoundMessages before_writing(const Scenario& scenario, const RoundShape& shape);  // poll, plan, write
RoundMessages after_writing(const Scenario& scenario, const RoundShape& shape);   // stop_serving, finish, end
double seconds_of(const Network& network, const RoundMessages& messages);

// In which a node writes the file (cluster/window_order.h).
uint64_t streams_of_node(uint64_t servers, uint64_t nodes);

// At a sync and a close each rank asks the leader of each other node (Spanning::meet_nodes). Each leader
// answers on one thread.
double questions_of_leader(const Job& job);
double question_seconds(const Scenario& scenario);

// That a leader reserves (Cluster::connections). Without them nothing is logged.
double descriptors_of_leader(const Job& job);

}  // namespace pmio::simulate
