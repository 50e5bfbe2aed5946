// What a job's writes of a file cost by each way: the log, independently, and two-phase.
//
// The functions extend model/liu.h by what that leaves out: the log, the two layers of an exchange, the block
// size, servers. Each tells where its form comes from. **Their errors are large** (docs/model.md):
// Errors has them, and no decision of pmio's may rest on them yet. Pure functions; threads: any.
//
// What none of them knows: reads, locks of a parallel file system between nodes, more ranks than processors,
// and other programs. All ranks are taken to write alike and at the same time.
#pragma once

#include "model/machine.h"

namespace pmio::model {

struct Transfer {
  double ranks = 1;
  double nodes = 1;            // with as many ranks on each
  double call_bytes = 0;       // of a rank in a call; above 0
  double pieces_per_call = 1;  // of a rank, each contiguous in the file
  bool regular = true;         // the pieces of a call are one vector: one record in the log
  double calls = 1;            // of a rank
  double compute_seconds = 0;  // between the begin of a call and the end of the one before

  double ranks_of_node() const { return ranks / nodes; }
  double piece_bytes() const { return call_bytes / pieces_per_call; }
  double node_bytes() const { return call_bytes * ranks_of_node(); }  // in a call
  double records() const { return regular ? 1 : pieces_per_call; }    // of a rank in a call
};

// As docs/performance.md has them. Neither contains the compute between calls.
struct Times {
  double to_log_seconds = 0;   // in the calls
  double to_file_seconds = 0;  // and the close
};

// The rate at which a file takes blocks of a size: between the measured sizes the logarithms are
// interpolated. Below the smallest a call takes as long as one of that; above the largest the rate stays.
double block_rate(const FileSystem& file, double block_bytes);

// So many bytes from each node, in blocks. Two bounds beside the node's own rate: the link of each node, and
// the servers together, which all nodes share. The longest counts. Seconds.
double file_seconds(const FileSystem& file, double nodes, double node_bytes, double block_bytes);

// Draining what a node logs in one call. Form: costs per record and piece add to the writes of one thread
// (index_bench, 24 November). Seconds.
double drain_seconds(const Machine& machine, const Transfer& transfer);

// What the log of a node holds of a job over time, by a fluid model: a drain runs while the program pauses
// (less the time that pmio waits for a pause), and always if the log is fuller than drain_from_fraction. If
// the log is full, calls wait for the drain. Form: own.
struct Backlog {
  double bytes = 0;         // when the last call has returned: the most of all time, up to the capacity
  double wait_seconds = 0;  // of all calls together, for a full log
};
// call_seconds: of a call that waits for nothing. drain_bytes_per_second: above 0, of the log's bytes.
Backlog backlog(const LogMedium& log, const Transfer& transfer, double call_seconds,
                double drain_bytes_per_second);

// How many times as long a quiet machine of 2 ranks took as the next functions say, with the figures of `pmio
// calibrate`: the least and the most of single runs, and their median (docs/model.md). The log's are of
// complete files.
struct Errors {
  double least, likely, most;
};
constexpr Errors kLogErrors{0.8, 1.2, 2.5};
constexpr Errors kIndependentErrors{0.5, 1.0, 1.6};  // of one piece a call
constexpr Errors kSievedErrors{0.9, 2.5, 7};         // of several
constexpr Errors kTwoPhaseErrors{0.65, 1.0, 2.2};

// The log, with all pieces through it (pmio_direct_from=off). A call costs a constant, a constant per record
// and a copy (append_bench and mpiio_bench, 24 and 26 November). The part of the log that was not touched
// before is cold, once. The close follows the last call, and drains what is left.
Times log_times(const Machine& machine, const Transfer& transfer);

// Each rank by itself, as MPI libraries do: pieces one by one or, if there are several in a call, by data
// sieving of the range that the ranks' calls share, whichever is faster. Form: equation 5 of liu.h, with a
// bandwidth by block size instead of one.
Times independent_times(const Machine& machine, const Transfer& transfer);

// pmio's engine, one aggregator a node. Form: equations 1 to 3 of liu.h, with T_comm in two layers: copies
// within a node, messages between nodes, of which (nodes - 1) / nodes of the bytes cross. An exchange before
// the bytes takes log2(nodes) messages (decision 28). Copies and writes are not overlapped.
Times two_phase_times(const Machine& machine, const Transfer& transfer);

}  // namespace pmio::model
