#include "cli/common/log_rates.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "medium/touched_pages.h"

namespace pmio::cli {
namespace {

using Clock = std::chrono::steady_clock;

// What one thread does; all pass the barrier as often, whatever fails.
class LogWriter {
 public:
  LogWriter(Medium& medium, std::string name, uint64_t region_bytes, uint64_t source_bytes)
      : medium_(medium), name_(std::move(name)), bytes_(region_bytes), source_(source_bytes, 'p') {}

  void run(std::barrier<>& together, LogPasses passes) {
    together.arrive_and_wait();
    start = Clock::now();
    status = copy_cold();
    cold = Clock::now();
    if (passes == LogPasses::all) run_warm(together);
    region_.reset();
    const Status removed = medium_.remove(name_);
    if (status.ok()) status = removed;
  }

  Status status;
  Clock::time_point start, cold, restart, warm, durable;

 private:
  const char* source(uint64_t at) const {
    return source_.data() + at % (source_.size() / kLogRecordBytes * kLogRecordBytes);
  }

  void run_warm(std::barrier<>& together) {
    together.arrive_and_wait();
    restart = Clock::now();
    if (status.ok()) status = copy_warm();
    warm = Clock::now();
    if (status.ok()) status = region_->sync();
    durable = Clock::now();
  }

  Status copy_cold() {
    auto region = medium_.create(name_, bytes_);
    if (!region.ok()) return region.status();
    region_ = std::move(*region);
    TouchedPages touched(bytes_);
    for (uint64_t at = 0; at + kLogRecordBytes <= bytes_; at += kLogRecordBytes) {
      if (touched.lacks_front(at + kLogRecordBytes)) touched.touch_front(*region_, at + kLogRecordBytes);
      region_->copy(at, source(at), kLogRecordBytes);
    }
    return {};
  }

  Status copy_warm() {
    for (uint64_t at = 0; at + kLogRecordBytes <= bytes_; at += kLogRecordBytes) {
      region_->copy(at, source(at), kLogRecordBytes);
      region_->flush(at, kLogRecordBytes);
      PMIO_TRY(region_->fence());
    }
    return {};
  }

  Medium& medium_;
  std::string name_;
  uint64_t bytes_;
  std::vector<char> source_;
  std::unique_ptr<Region> region_;
};

using Moment = Clock::time_point LogWriter::*;

double rate(const std::vector<LogWriter>& writers, uint64_t bytes, Moment from, Moment to) {
  Clock::time_point first = Clock::time_point::max(), last = Clock::time_point::min();
  for (const LogWriter& each : writers) {
    first = std::min(first, each.*from);
    last = std::max(last, each.*to);
  }
  const double seconds = std::chrono::duration<double>(last - first).count();
  return static_cast<double>(bytes * writers.size()) / seconds;
}

}  // namespace

Result<LogRates> measure_log(Medium& medium, uint32_t threads, uint64_t region_bytes, uint64_t source_bytes,
                             LogPasses passes) {
  std::vector<LogWriter> writers;
  writers.reserve(threads);
  for (uint32_t i = 0; i < threads; i++)
    writers.emplace_back(medium, "rates-" + std::to_string(i), region_bytes, source_bytes);
  std::barrier<> together(threads);
  std::vector<std::thread> running;
  for (LogWriter& each : writers) running.emplace_back([&] { each.run(together, passes); });
  for (std::thread& each : running) each.join();
  for (const LogWriter& each : writers) PMIO_TRY(each.status);
  const double cold = rate(writers, region_bytes, &LogWriter::start, &LogWriter::cold);
  if (passes == LogPasses::cold) return LogRates{.cold = cold};
  return LogRates{cold, rate(writers, region_bytes, &LogWriter::restart, &LogWriter::warm),
                  rate(writers, region_bytes, &LogWriter::restart, &LogWriter::durable)};
}

}  // namespace pmio::cli
