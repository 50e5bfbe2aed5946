// How fast one thread gets bytes into the log medium: a short measurement, in a scratch directory that goes
// again.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "cli/doctor/checks.h"
#include "medium/touched_pages.h"

namespace pmio::cli {
namespace {

constexpr uint64_t kRegionBytes = 64 << 20;
constexpr size_t kRecordBytes = 64 << 10;

class ScratchDirectory {
 public:
  explicit ScratchDirectory(const std::string& parent) : path_(parent + "/pmio-doctor-XXXXXX") {
    made_ = mkdtemp(path_.data()) != nullptr;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    if (made_) std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  bool made() const { return made_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_ = false;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Into a new region, and its making.
Status measure_cold(Medium& medium, uint64_t bytes, const std::vector<char>& record, double* bytes_per_s) {
  const auto start = std::chrono::steady_clock::now();
  auto region = medium.create("bandwidth", bytes);
  if (!region.ok()) return region.status();
  TouchedPages touched(bytes);
  for (uint64_t at = 0; at + kRecordBytes <= bytes; at += kRecordBytes) {
    if (touched.lacks_front(at + kRecordBytes)) touched.touch_front(**region, at + kRecordBytes);
    (*region)->copy(at, record.data(), kRecordBytes);
  }
  *bytes_per_s = std::max(*bytes_per_s, static_cast<double>(bytes) / seconds_since(start));
  return medium.remove("bandwidth");
}

Status measure(Diagnosis& diagnosis, const std::string& directory, uint64_t bytes) {
  auto medium = open_medium(directory, diagnosis.hints.durability);
  if (!medium.ok()) return medium.status();
  const std::vector<char> record(kRecordBytes, 'p');
  // A virtual machine may have to ask its host for the memory that it takes first.
  for (int i = 0; i < 2; ++i) PMIO_TRY(measure_cold(**medium, bytes, record, &diagnosis.cold_bytes_per_s));
  auto region = (*medium)->create("bandwidth", bytes);
  if (!region.ok()) return region.status();
  Medium::prefault(**region, 0, bytes);
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t at = 0; at + kRecordBytes <= bytes; at += kRecordBytes) {
    (*region)->copy(at, record.data(), kRecordBytes);
    (*region)->flush(at, kRecordBytes);
    PMIO_TRY((*region)->fence());
  }
  diagnosis.copy_bytes_per_s = static_cast<double>(bytes) / seconds_since(start);
  PMIO_TRY((*region)->sync());
  diagnosis.durable_bytes_per_s = static_cast<double>(bytes) / seconds_since(start);
  return (*medium)->remove("bandwidth");
}

}  // namespace

void measure_bandwidth(Diagnosis& diagnosis) {
  if (!diagnosis.usable || !diagnosis.medium) return;
  const uint64_t bytes =
      std::min(kRegionBytes, diagnosis.medium->free_bytes / 4) / kRecordBytes * kRecordBytes;
  if (bytes == 0) return;
  const ScratchDirectory scratch(diagnosis.nearest);
  if (!scratch.made()) return;  // the directory's own check has said why
  if (Status status = measure(diagnosis, scratch.path(), bytes); !status.ok()) {
    diagnosis.findings.push_back(
        {"a log cannot be written: " + status.message(), "set PMIO_DIR to another medium"});
  }
}

}  // namespace pmio::cli
