// The rates at which the log medium takes copies.
#include <algorithm>
#include <cerrno>

#include "base/memory_limits.h"
#include "cli/calibrate/measure.h"
#include "cli/common/log_rates.h"
#include "cli/common/report_format.h"
#include "cli/common/scratch.h"
#include "cli/profile/place.h"

namespace pmio::cli {

Result<LogProfile> measure_log_medium(const std::string& directory, uint32_t writers, const Effort& effort,
                                      Progress& progress) {
  const std::string parent = nearest_directory(directory);
  const auto facts = probe_medium(parent);
  if (!facts.ok()) return facts.status();
  const uint64_t room = std::min(facts.value().free_bytes,
                                 room_bytes(limits_of(facts.value().kind, parent), Keep::half, nullptr));
  const uint64_t most = effort.most_bytes;
  if (room < 2 * most)
    return Status(Code::no_space, parent + ": " + human_bytes(room) +
                                      " are left for logs, and measuring needs " + human_bytes(2 * most) +
                                      "; make room, name another directory by --log-dir, or try --quick");
  const ScratchDirectory scratch(parent, "pmio-calibrate-");
  if (!scratch.made()) return Status::from_errno(errno, parent);
  auto medium = open_medium(scratch.path(), Durability::none);
  if (!medium.ok()) return medium.status();
  progress.begin("copies to the log medium");
  // As large as what is not in the cache any more when it is copied.
  const uint64_t region = most / writers / kLogRecordBytes * kLogRecordBytes;
  std::vector<double> cold, warm;
  bool first = true;
  const Status status = repeat(effort, [&]() -> Status {
    // A virtual machine may have to ask its host for the memory that it takes first.
    if (std::exchange(first, false))
      PMIO_TRY(measure_log(**medium, writers, region, region, LogPasses::cold).status());
    const auto rates = measure_log(**medium, writers, region, region);
    if (!rates.ok()) return rates.status();
    cold.push_back(rates.value().cold);
    warm.push_back(rates.value().warm);
    return {};
  });
  if (!status.ok()) return status;
  LogProfile measured{.medium = medium_kind_name(facts.value().kind),
                      .file_system = facts.value().file_system,
                      .date = utc_now()};
  measured.figures["cold_bytes_per_second"] = figure_of(std::move(cold));
  measured.figures["warm_bytes_per_second"] = figure_of(std::move(warm));
  return measured;
}

}  // namespace pmio::cli
