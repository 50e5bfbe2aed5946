// How fast one thread gets bytes into the log medium.
#include <algorithm>

#include "cli/common/log_rates.h"
#include "cli/common/scratch.h"
#include "cli/doctor/checks.h"

namespace pmio::cli {
namespace {

constexpr uint64_t kRegionBytes = 64 << 20;

Status measure(Diagnosis& diagnosis, const std::string& directory, uint64_t bytes) {
  auto medium = open_medium(directory, diagnosis.hints.durability);
  if (!medium.ok()) return medium.status();
  // A virtual machine may have to ask its host for the memory that it takes first: so the second counts, too.
  const auto first = measure_log(**medium, 1, bytes, kLogRecordBytes, LogPasses::cold);
  if (!first.ok()) return first.status();
  const auto rates = measure_log(**medium, 1, bytes, kLogRecordBytes);
  if (!rates.ok()) return rates.status();
  diagnosis.cold_bytes_per_s = std::max(first.value().cold, rates.value().cold);
  diagnosis.copy_bytes_per_s = rates.value().warm;
  diagnosis.durable_bytes_per_s = rates.value().durable;
  return {};
}

}  // namespace

void measure_bandwidth(Diagnosis& diagnosis) {
  if (!diagnosis.usable || !diagnosis.medium) return;
  const uint64_t bytes =
      std::min(kRegionBytes, diagnosis.medium->free_bytes / 4) / kLogRecordBytes * kLogRecordBytes;
  if (bytes == 0) return;
  const ScratchDirectory scratch(diagnosis.nearest, "pmio-doctor-");
  if (!scratch.made()) return;  // the directory's own check has said why
  if (Status status = measure(diagnosis, scratch.path(), bytes); !status.ok()) {
    diagnosis.findings.push_back(
        {"a log cannot be written: " + status.message(), "set PMIO_DIR to another medium"});
  }
}

}  // namespace pmio::cli
