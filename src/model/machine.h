// What a machine's I/O costs, as numbers: the parameters of src/model/ways.h.
//
// `pmio calibrate` measures some of them (docs/model.md), into a profile: cli/profile/profile.h reads it.
// The defaults are those of the small machine of docs/performance.md (2 cores, 2 ranks, log on tmpfs with
// pages of 4 KiB, file on ext4), for want of a calibration. Single measurements vary by a quarter there, and
// other machines by more. Sources are named by their heading: "26 November" is
// docs/measurements/2026-11-26.md. MB are 10^6 bytes in all of them. Threads: immutable.
#pragma once

#include <vector>

namespace pmio::model {

// At which rate a file takes writes of one size, of however many ranks of a node: they exclude each other.
struct BlockRate {
  double block_bytes = 0, bytes_per_second = 0;
};

struct LogMedium {
  // Copies by all ranks of a node: "Cold and warm", 26 November, memcpy.
  double warm_bytes_per_second = 8165.1e6;
  double cold_bytes_per_second = 2659.4e6;  // to memory that nobody has touched
  double capacity_bytes = 512e6;            // of a node; no figure: what pmio_log_size gives
  double warm_bytes = 0;                    // of it, touched before
  // Of a record: "Ten million extents in one file", 24 November.
  double record_bytes = 64;
  double append_record_seconds = 154e-9;
  double merge_record_seconds = 62e-9;
  double drain_record_seconds = 244e-9;
  // Of each further piece of a record: "Against ROMIO", 24 November, columns of 8 B, the close less the
  // writes.
  double drain_piece_seconds = 0.34e-9;
  // pmio less memcpy, less the record: 0.17 µs cold, 0.24 warm; "Cold and warm", 26 November.
  double call_seconds = 0.05e-6;
  // When the background thread drains: docs/hints.md, pmio_max_age; docs/architecture.md, "Concurrency".
  double pause_seconds = 0.040;
  double drain_from_fraction = 0.5;  // of the capacity
  // The first file of a job, closed, over a job without one: "The start and the end of a program", 26
  // November, MPICH 5, 2 ranks.
  double file_seconds = 4.8e-3;
};

struct FileSystem {
  // "Cold figures that contradicted each other", 26 November, plain independent; 4 MiB: one process, there.
  // Ascending by block; at least one.
  std::vector<BlockRate> rates{{1312, 480e6},   {4096, 879e6},   {8192, 1486e6},    {16384, 2023e6},
                               {32768, 2185e6}, {65536, 2445e6}, {1048576, 3034e6}, {4194304, 3831e6}};
  // Data sieving, counted in bytes of the span that is read and written: 2,274 MB/s of pieces of 4 KiB, every
  // second one of a rank's; "Large pieces: through the log, or straight to the file", 26 November.
  double sieved_bytes_per_second = 4548e6;
  // And of each piece, on each rank: "Against ROMIO", 24 November, columns of 8 B.
  double sieved_piece_seconds = 23e-9;
  double drain_block_bytes = 4194304;  // of one write of a drain; src/drain
  // Of a file on servers; 0: no bound. 1 Gbit/s are 114 to 116 MB/s (testbed/README.md).
  double servers = 0;
  double server_bytes_per_second = 0;
  double link_bytes_per_second = 0;  // of a node, also to other nodes
};

struct Exchange {
  // Steps 1 and 2 and the waiting of a call on one node: docs/performance.md, "A small collective write, step
  // by step".
  double call_seconds = 3.0e-6;
  // Within a node. Per piece: 4.2 ns for one of 8 B, 590 ns for one of 1,312 B, writes included, decision 28.
  double copy_bytes_per_second = 8165.1e6;  // of all its ranks, as a warm log
  double copy_piece_seconds = 0.6e-9;
  // A message of the MPI library within a node, by ping-pong: a constant and a time per byte (T_s and T_w of
  // liu.h). pmio's engine copies there instead: no function of ways.h uses them. 0: not measured.
  double within_message_seconds = 0;
  double within_byte_seconds = 0;
  // The same between nodes. Assumed, until `pmio calibrate` measures it there.
  double message_seconds = 50e-6;
  double message_byte_seconds = 0;  // 0: that of the file system's link
  double window_bytes = 1048576;    // decision 28
};

struct Machine {
  LogMedium log{};
  FileSystem file{};
  Exchange exchange{};
};

}  // namespace pmio::model
