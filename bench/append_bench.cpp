// How near an append to the log, checksums and fence included, comes to a plain memcpy into the same warm
// memory.
//
// Every iteration is a lap of memcpy over a region and a lap of append over the same region, so that both
// meet the same machine. "hot": the program writes the same record's memory again and again (it stays in the
// cache); "cold": the records are taken from memory larger than the last-level cache.
#include <benchmark/benchmark.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "log/segment.h"
#include "medium/medium.h"

namespace {

// Processor time of this thread, so that a neighbour on the same core is not measured. Nothing here waits.
double seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

constexpr size_t kRegionBytes = size_t{64} << 20;
constexpr size_t kColdBytes = size_t{128} << 20;

// Walks a source buffer in records, back to the start at its end.
class Source {
 public:
  Source(size_t bytes, size_t record) : bytes_(bytes), record_(record), data_(bytes) {
    for (size_t i = 0; i < bytes; ++i) data_[i] = static_cast<std::byte>(i * 2654435761u >> 7);
  }
  const std::byte* next() {
    if (at_ + record_ > bytes_) at_ = 0;
    const std::byte* here = data_.data() + at_;
    at_ += record_;
    return here;
  }

 private:
  size_t bytes_, record_, at_ = 0;
  std::vector<std::byte> data_;
};

double lap_memcpy(pmio::Region& region, Source& source, size_t record, size_t records) {
  const double start = seconds();
  for (size_t i = 0; i < records; ++i) {
    std::memcpy(region.data() + pmio::kHeaderBytes + i * record, source.next(), record);
    benchmark::ClobberMemory();
  }
  return seconds() - start;
}

double lap_append(pmio::SegmentWriter& writer, Source& source, size_t record, size_t records) {
  const double start = seconds();
  for (size_t i = 0; i < records; ++i) {
    writer.append({static_cast<int64_t>(i * record), record, 0, 1}, source.next(), i, 1, true);
    if (!writer.fence().ok()) std::abort();
  }
  return seconds() - start;
}

void append(benchmark::State& state, pmio::Region& region) {
  const auto record = static_cast<size_t>(state.range(0));
  const size_t records = (kRegionBytes - pmio::kHeaderBytes) / (record + sizeof(pmio::LogRecord) + 8);
  Source copied(state.range(1) ? record : kColdBytes, record),
      appended(state.range(1) ? record : kColdBytes, record);
  double memcpy_seconds = 0, append_seconds = 0;
  for (auto _ : state) {
    memcpy_seconds += lap_memcpy(region, copied, record, records);
    auto writer = pmio::SegmentWriter::format(region, {1, 0, 0, 1, {}, "/benchmark"});
    if (!writer.ok()) std::abort();
    const double lap = lap_append(*writer, appended, record, records);
    append_seconds += lap;
    state.SetIterationTime(lap);
  }
  const double bytes = static_cast<double>(record * records) * static_cast<double>(state.iterations());
  state.counters["append_MB/s"] = bytes / append_seconds / 1e6;
  state.counters["memcpy_MB/s"] = bytes / memcpy_seconds / 1e6;
  state.counters["ratio"] = memcpy_seconds / append_seconds;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  const char* wish = std::getenv("PMIO_DIR");
  std::string directory = std::string(wish != nullptr ? wish : "/dev/shm") + "/append-bench-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return std::perror(directory.c_str()), 1;
  auto medium = pmio::open_medium(directory, pmio::Durability::none);
  if (!medium.ok()) return std::fprintf(stderr, "%s\n", medium.status().message().c_str()), 1;
  auto region = (*medium)->create("segment", kRegionBytes);
  if (!region.ok()) return std::fprintf(stderr, "%s\n", region.status().message().c_str()), 1;
  pmio::Medium::prefault(**region, 0, kRegionBytes);
  benchmark::RegisterBenchmark("append", [&](benchmark::State& state) { append(state, **region); })
      ->ArgNames({"record", "hot"})
      ->ArgsProduct({{64, 1312, 4 << 10, 16 << 10, 1 << 20}, {1, 0}})
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
  benchmark::RunSpecifiedBenchmarks();
  region->reset();
  static_cast<void>((*medium)->remove("segment"));
  rmdir(directory.c_str());
  return 0;
}
