// Files that did not go through the log, and could have.
#include <algorithm>
#include <array>
#include <string_view>

#include "advise/rules.h"
#include "base/words.h"

namespace pmio::advise {
namespace {

// What is in the way of the log, by the first words of the reason, and what is to be done.
struct Obstacle {
  std::string_view reason;
  const char* setting;
  const char* code;
};

constexpr std::array kObstacles{
    Obstacle{"without pmio", "pmio run (mpiexec -n N pmio run -- program), or a site that preloads it", ""},
    Obstacle{"pmio_mode=", "pmio_mode=log", ""},
    Obstacle{"its file system is untried", "pmio_mode=log", ""},
    Obstacle{"file system: pmio_across_nodes",
             "pmio_across_nodes=on (docs/semantics.md says what the file system must "
             "promise)",
             ""},
    Obstacle{"may not be read and written", "", "open it with MPI_MODE_RDWR"},
    Obstacle{"atomic mode", "", "MPI_File_set_atomicity(fh, 0)"},
    Obstacle{"MPI_MODE_SEQUENTIAL", "", "open it without MPI_MODE_SEQUENTIAL"},
    Obstacle{"the ranks differ in pmio_mode", "", "give all ranks the same pmio_mode"},
    Obstacle{"too many groups", "", "open files by fewer different groups of ranks, or by all of them"},
    Obstacle{"too few file descriptors", "ulimit -n (pmio doctor says how many)", ""},
    Obstacle{"the nodes do not reach each other", "pmio_interface, named to be one that all nodes can use",
             ""},
};

const Obstacle* obstacle_of(const FileRecord& file) {
  for (const Obstacle& each : kObstacles)
    if (file.reason.starts_with(each.reason)) return &each;
  return nullptr;
}

const char* name_of(Way way) {
  switch (way) {
    case Way::log:
      return "through the log";
    case Way::independent:
      return "independently";
    case Way::two_phase:
      return "by two-phase I/O";
    case Way::library:
      break;
  }
  return "by the MPI library";
}

model::Transfer transfer_of(const JobRecord& job, const FileRecord& file) {
  model::Transfer transfer;
  transfer.nodes = std::min(job.nodes, file.writers);
  transfer.ranks = file.writers;
  transfer.call_bytes = file.call_bytes();
  transfer.calls = file.calls;
  transfer.compute_seconds = job.compute_seconds() / file.calls;
  return transfer;
}

void log_it(const JobRecord& job, const model::Machine& machine, const FileRecord& file, Changes* changes) {
  const Obstacle* const obstacle = obstacle_of(file);
  if (obstacle == nullptr || file.call_bytes() >= kStraightBytes) return;
  const Estimate then =
      between(log_times(machine, transfer_of(job, file)).to_file_seconds, model::kLogErrors);
  changes->push_back({.what = "the file through the log",
                      .setting = obstacle->setting,
                      .code = obstacle->code,
                      .because = count_text(file.calls) + " writes of " + bytes_text(file.call_bytes()) +
                                 " of a rank went " + name_of(file.way) + " (" + file.reason + ") in " +
                                 human_duration(file.write_seconds),
                      .file = file.path,
                      .basis = Basis::model,
                      .to = less(job, file.write_seconds - then.high, file.write_seconds - then.likely,
                                 file.write_seconds - then.low)});
}

void straight(const JobRecord& job, const model::Machine& machine, const FileRecord& file, Changes* changes) {
  if (file.direct_from != "off" || file.call_bytes() < kStraightBytes || job.nodes > 1) return;
  const model::Transfer transfer = transfer_of(job, file);
  const Estimate then =
      between(independent_times(machine, transfer).to_file_seconds, model::kIndependentErrors);
  const double now = job.write_seconds + job.wait_seconds + job.close_seconds;
  changes->push_back({.what = "large pieces straight to the file",
                      .setting = "pmio_direct_from=auto",
                      .because = "pieces of " + bytes_text(file.call_bytes()) +
                                 " were logged and then written, though one write costs less",
                      .file = file.path,
                      .basis = Basis::model,
                      .to = less(job, now - then.high, now - then.likely, now - then.low)});
}

}  // namespace

void advise_files(const JobRecord& job, const model::Machine& machine, Changes* changes) {
  for (const FileRecord& file : job.files) {
    if (file.calls <= 0 || file.call_bytes() <= 0) continue;
    if (file.way == Way::log)
      straight(job, machine, file, changes);
    else
      log_it(job, machine, file, changes);
  }
}

}  // namespace pmio::advise
