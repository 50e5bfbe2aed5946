// What the program's calls could do otherwise.
#include <algorithm>
#include <cmath>

#include "advise/rules.h"
#include "base/words.h"

namespace pmio::advise {
namespace {

constexpr double kFewCalls = 1000, kSmallBytes = 4096;
// Of a piece in a datatype: to walk it, and to copy it. 0.6 ns in the engine's copies (model/machine.h); more
// for the program, which may have to gather what it wrote piece by piece.
constexpr double kPieceSeconds = 5e-9, kMostPieceSeconds = 50e-9;

void fewer_calls(const JobRecord& job, const model::LogMedium& medium, Changes* changes) {
  for (const FileRecord& file : job.files) {
    if (file.way != Way::log || file.calls < kFewCalls || file.call_bytes() > kSmallBytes) continue;
    const double ranks = std::max(1.0, file.writers / job.nodes);  // of a node
    const double bytes = file.calls * file.call_bytes();           // of a rank
    const double calls = std::max(1.0, bytes / kCombinedBytes);
    // What is not the copy of the bytes is the calls'. The drain has fewer records, too.
    const double copy = bytes * ranks / medium.cold_bytes_per_second;
    const double modelled = file.calls * (medium.call_seconds + medium.append_record_seconds);
    const double spent = std::min(0.9 * file.write_seconds, std::max(modelled, file.write_seconds - copy));
    const double drain = std::min(
        job.close_seconds, file.calls * ranks * (medium.merge_record_seconds + medium.drain_record_seconds));
    const double least = spent / 2 - file.calls * kMostPieceSeconds;
    const double likely = spent - file.calls * kPieceSeconds + drain / 2;
    const double most = file.write_seconds + drain;
    changes->push_back({.what = "one call for many",
                        .code = "write what lies in " + count_text(std::ceil(file.calls / calls)) +
                                " calls by one, with a datatype or a file view (MPI_Type_vector, "
                                "MPI_Type_create_subarray, H5Sselect_hyperslab)",
                        .because = "these " + count_text(file.calls) + " writes of " +
                                   bytes_text(file.call_bytes()) + " of a rank cost " +
                                   human_duration(file.write_seconds / file.calls) + " each",
                        .file = file.path,
                        .to = less(job, least, likely, most)});
  }
}

// Half of the gain at least: what is synced must still get to the storage once.
void fewer_syncs(const JobRecord& job, Changes* changes) {
  const double files = std::max(1.0, job.logged_opens);
  if (job.sync_calls < 10 || job.sync_calls < 4 * files) return;
  const double most = job.sync_seconds * (1 - files / job.sync_calls);
  changes->push_back({.what = "fewer syncs",
                      .code = "call MPI_File_sync once a file, or pmio_persist, which does not wait for the "
                              "storage of the file",
                      .because = count_text(job.sync_calls) + " calls of MPI_File_sync took " +
                                 human_duration(job.sync_seconds / job.sync_calls) +
                                 " each. To see another rank's bytes no call needs it on one node",
                      .to = less(job, most * 0.3, most * 0.7, most)});
}

}  // namespace

void advise_calls(const JobRecord& job, const model::Machine& machine, Changes* changes) {
  fewer_calls(job, machine.log, changes);
  fewer_syncs(job, changes);
}

}  // namespace pmio::advise
