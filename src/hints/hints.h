// The hints that pmio understands, and the three texts they come from. docs/hints.md is the user's page of
// this.
//
// Later sources win: the site's file (site_file.h), the environment, MPI_Info (the program's choice),
// PMIO_HINTS (the user's override). Reading an MPI_Info is in src/mpi/info.h. Threads: values and pure
// functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "job/options.h"
#include "layout/provider.h"
#include "medium/medium.h"
#include "twophase/two_phase.h"

namespace pmio {

// The one key whose value may have colons in MPICH_MPIIO_HINTS.
inline constexpr std::string_view kConfigListKey = "cb_config_list";

// independent, twophase: without a log, by an engine of pmio's own (docs/decisions/0030-modes.md).
enum class Mode { automatic, log, off, independent, twophase };
// In order of what they allow; the least of all ranks' counts.
enum class AcrossNodes { off, automatic, on };

// Whether small pieces of a file that logs are gathered, so that they go to the file in large ones.
enum class Gather { automatic, on, off };

// What is to be short, where one costs the other: the time in the calls, or that to the complete file.
enum class Goal { automatic, time_to_log, time_to_file };

// Of collective buffering, with the meanings that Cray's MPI gives them.
struct BufferingHints {
  Buffering writes = Buffering::automatic, reads = Buffering::automatic;  // romio_cb_write, romio_cb_read
  uint64_t buffer_bytes = TwoPhaseOptions().buffer_bytes;                 // cb_buffer_size, of an aggregator
  uint32_t aggregators = 0;                                               // cb_nodes; 0: chosen
  std::string config_list;                                                // cb_config_list; empty: any rank
  Alignment alignment = TwoPhaseOptions().alignment;                      // pmio_cb_align
  BufferMemory memory = TwoPhaseOptions().memory;                         // pmio_cb_memory
  bool across_calls = false;                                              // pmio_cb_buffering
  bool operator==(const BufferingHints&) const = default;
};

struct Hints {
  Mode mode = Mode::automatic;                        // pmio_mode
  std::string directory;                              // pmio_dir; empty: default_directory()
  uint64_t log_bytes = 0;                             // pmio_log_size, of a rank; 0: chosen from the medium
  uint64_t index_bytes = 256 << 20;                   // pmio_index_memory
  Durability durability = Durability::none;           // pmio_durability
  bool background = true;                             // pmio_background
  uint64_t max_age_ns = kDefaultMaxAgeNs;             // pmio_max_age; 0: never for its age
  bool keep_closed = true;                            // pmio_keep_closed
  bool closes_in_background = false;                  // pmio_close, of a file
  DirectFrom direct_from = kDirectFrom;               // pmio_direct_from, of a file
  Gather gather = Gather::automatic;                  // pmio_gather, of a file
  Goal goal = Goal::automatic;                        // pmio_goal, of a file
  int stats = 0;                                      // pmio_stats
  std::string stats_directory;                        // pmio_stats_dir; empty: the log directory
  AcrossNodes across_nodes = AcrossNodes::automatic;  // pmio_across_nodes
  std::string interface;                              // pmio_interface, between nodes; empty: chosen
  LayoutHints layout;                                 // striping_unit, striping_factor
  BufferingHints buffering;                           // of a file with pmio_mode=twophase
};

// Which pieces of a file go straight to it, if its close waits for them or does not.
DirectFrom direct_from(const Hints& hints, bool closes_in_background);

using HintPair = std::pair<std::string, std::string>;

// Sets what key says; words such as on and off are taken in capitals too. A key that is neither pmio's nor
// one of striping and collective buffering changes nothing and is ok. invalid: an unknown pmio_ key, or a
// value that its key does not take. The hints are then unchanged, and the message is for the user.
// unsupported: a value that this version cannot serve yet; unchanged too.
Status set_hint(Hints& hints, std::string_view key, std::string_view value);

// The hints of the site's file, pmio_mode=off for a program that it leaves alone, MPICH_MPIIO_CB_ALIGN as
// pmio_cb_align, and those of the environment PMIO_<KEY>, as pmio_<key>, in this order. PMIO_HINTS is not
// among them.
std::vector<HintPair> environment_hints();
// Whether the environment has changed: each open asks, and may find hundreds of variables. Told by where they
// are, as setenv, putenv and unsetenv leave them: not if a program writes into one that it has put there.
class SeenEnvironment {
 public:
  bool is_now() const;
  void see();

 private:
  std::vector<const char*> strings_;
};

// The pairs that text ("pattern:key=value:key=value,pattern2:...") gives to a file: where the shell pattern
// matches the name as the program gave it, or its last component. Keys are as written, pmio's or the MPI
// library's own. A value in double quotes may hold ':' and ','; that of cb_config_list may hold ':' without
// them. Malformed parts are left out and named in complaints, with the variable that the text is from.
std::vector<HintPair> override_hints(std::string_view text, const std::string& filename,
                                     std::vector<std::string>* complaints,
                                     std::string_view variable = "PMIO_HINTS");

// As override_hints, of all patterns: for who checks the text before there are files.
std::vector<HintPair> every_override(std::string_view text, std::vector<std::string>* complaints);

// The keys of pmio's hints, pmio_<key>.
std::span<const std::string_view> hint_keys();

// The pmio_ hints in force, as MPI_File_get_info shows them. hints: the job's, but for those of a file.
// mode: as it turned out for the file.
std::vector<HintPair> hints_in_force(const Hints& hints, Mode mode, const std::string& directory);

// The values of collective buffering in force, likewise.
std::vector<HintPair> buffering_in_force(const TwoPhaseOptions& options);

// As pmio_mode has it.
const char* mode_name(Mode mode);

// Whether what aggregators of a file receive is held back in their logs.
inline bool holds_back(const Hints& hints) {
  return hints.mode == Mode::twophase && hints.buffering.across_calls;
}

// Whether files of that mode go by an engine of pmio's own that keeps no log.
inline bool goes_straight(Mode mode) { return mode == Mode::independent || mode == Mode::twophase; }

// "4096", "64M", "64MiB", "1G": bytes, with powers of 1024. invalid for anything else, and where it
// overflows.
Result<uint64_t> parse_bytes(std::string_view text);

// "2", "2.5", "500ms", "2s", "1min": nanoseconds, of seconds where there is no unit. "off" is 0. invalid for
// anything else, and beyond a day.
Result<uint64_t> parse_duration(std::string_view text);

}  // namespace pmio
