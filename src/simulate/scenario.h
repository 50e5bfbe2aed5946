// What a simulation is told: a job that writes checkpoints, and the cluster that it runs on.
//
// All nodes are alike, and so are all ranks: they compute for the same time, and write at the same time.
// Units are in the names; MB and GB are 10^6 and 10^9 bytes. The defaults are those of no machine. Each says
// where it is from, or that it is assumed. Threads: values.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "model/machine.h"

namespace pmio::simulate {

// How the ranks' bytes lie in a checkpoint's file.
enum class Layout {
  strided,   // each call writes one range of the file, a record of each rank after the other
  segments,  // each rank has a range of its own, which its records fill
};

// Who exchanges what before a collective write.
enum class Exchange {
  nodes,  // pmio's engine: the nodes, in log2(nodes) steps (decision 28)
  ranks,  // as ROMIO: each rank tells each aggregator what it has
};

struct Job {
  uint64_t nodes = 1000;
  uint64_t ranks_per_node = 32;
  uint64_t record_bytes = 65536;  // of a rank in a call
  uint64_t records = 1024;        // of a rank in a checkpoint, one a call
  uint64_t checkpoints = 6;
  double compute_seconds = 600;  // before each checkpoint
  Layout layout = Layout::strided;

  uint64_t ranks() const { return nodes * ranks_per_node; }
  uint64_t rank_bytes() const { return record_bytes * records; }  // in a checkpoint; so the next two
  uint64_t node_bytes() const { return rank_bytes() * ranks_per_node; }
  uint64_t bytes() const { return node_bytes() * nodes; }
};

struct Network {
  double link_bytes_per_second = 12.5e9;  // of a node, each way; 100 Gbit/s, assumed
  double core_bytes_per_second = 0;       // of all nodes together; 0: no bound
  double message_seconds = 50e-6;         // from one node to another; model/machine.h
  double rank_message_seconds = 2e-6;     // of an aggregator, for each message of MPI; assumed
  // Of a leader's thread, for each request that it sends or answers: processor time of peer_call/32 in
  // peer_bench, 28 November.
  double leader_message_seconds = 15e-6;
  double leader_bytes_per_second = 1.41e9;  // likewise, of large messages: peer_call/1048576
};

struct Storage {
  uint64_t servers = 64;           // assumed
  double bytes_per_second = 2e9;   // of a server; assumed
  double request_seconds = 50e-6;  // of a server, for each request whatever its size; assumed
  double lock_seconds = 1e-3;      // the same, if another node wrote the stripe last; assumed
  uint64_t stripe_bytes = 1048576;
};

struct Collective {
  Exchange exchange = Exchange::nodes;
  uint64_t aggregators = 0;  // 0: one a node
};

struct Log {
  // Costs and rates; capacity_bytes is that of a node.
  model::LogMedium medium{.capacity_bytes = 32e9};
  bool durable = false;      // it survives the failure of its node
  bool close_waits = false;  // a close waits until the file is complete: pmio_close is not background
  // Of a process. At some sites it is less: ulimit -Hn. 0: no bound.
  uint64_t descriptors = 1048576;

  // Records take room, too.
  double log_bytes_of_byte(const Job& job) const {
    return 1 + medium.record_bytes / static_cast<double>(job.record_bytes);
  }
};

struct Failures {
  double node_mtbf_seconds = 5 * 365 * 86400.0;  // of one node; 0: none fails. Assumed
  uint64_t seed = 1;
};

// How finely is simulated. More is slower, and nearer to a simulation of each node and each request.
struct Precision {
  uint64_t classes = 256;  // of nodes that are simulated as one; as many nodes are simulated each by itself
  uint64_t flows = 1024;   // of requests at once, for ranks that are simulated as one
  uint64_t steps = 256;    // of a flow in a phase of writing, each of one request or more
  uint64_t calls = 64;     // parts of a checkpoint, each of one call or more
};

struct Scenario {
  Job job{};
  Network network{};
  Storage storage{};
  Collective collective{};
  Log log{};
  model::Exchange copies{};  // within a node
  Failures failures{};
  Precision precision{};
};

// invalid: what is out of its range, and which range that is.
Status check(const Scenario& scenario);

}  // namespace pmio::simulate
