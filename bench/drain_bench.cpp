// Speed of the drain's steps on one core: building a run, painting windows. Each painting is to be compared
// with BM_Memcpy of the same run of this program: it moves the same bytes without any choice.
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>

#include "drain/paint.h"
#include "drain/run.h"

namespace pmio {
namespace {

constexpr uint64_t kRecordBytes =
    1312;  // of the I/O kernel of a particle code, a size that no block size divides
constexpr uint64_t kFileBytes = 256 << 20;  // beyond the caches
constexpr int kRanks = 2;

// One contiguous log per rank; an entry's `where` is its data's position in 8 bytes, and vectors are told by
// number.
class Logs final : public EntrySource {
 public:
  explicit Logs(uint64_t bytes_per_rank) {
    for (auto& log : logs_) log.assign(bytes_per_rank, std::byte{42});
  }
  bool locate(const Entry& entry, Located* located) override {
    if (entry.vector) {
      *located = vectors[entry.where];
    } else {
      located->range = {static_cast<int64_t>(entry.offset), entry.end - entry.offset, 0, 1};
      located->data = logs_[entry.segment].data() + uint64_t{entry.where} * 8;
    }
    return true;
  }
  const std::byte* data(uint32_t rank) const { return logs_[rank].data(); }
  std::vector<Located> vectors;

 private:
  std::vector<std::byte> logs_[kRanks];
};

Entry entry_of(const Vector& v, uint32_t rank, uint64_t where, uint64_t stamp_ns) {
  return {static_cast<uint64_t>(v.offset),
          static_cast<uint64_t>(v.end()),
          stamp_ns,
          rank,
          static_cast<uint32_t>(where),
          v.count > 1};
}

// Paints the file window by window and counts the bytes that were painted.
void paint_file(benchmark::State& state, const std::vector<Entry>& entries, Logs& logs) {
  std::vector<uint64_t> memory(run_bytes(entries.size()) / 8 + 1);
  std::vector<Entry> copy = entries, found;
  build_run(copy, memory.data());
  const RunView run(memory.data());
  Painter painter;
  std::vector<std::byte> window(kWindowBytes);
  std::vector<Interval> covered;
  size_t hint = 0;
  uint64_t at = 0, painted = 0;
  for (auto _ : state) {
    found.clear();
    run.find(at, at + kWindowBytes, &found, &hint);
    if (!painter.paint(found, logs, at, at + kWindowBytes, window.data(), &covered))
      state.SkipWithError("lost");
    for (const Interval& interval : covered) painted += interval.bytes();
    at = at + 2 * kWindowBytes <= kFileBytes ? at + kWindowBytes : 0;
  }
  state.SetBytesProcessed(static_cast<int64_t>(painted));
}

void BM_Memcpy(benchmark::State& state) {
  std::vector<std::byte> from(kFileBytes, std::byte{42}), window(kWindowBytes);
  uint64_t at = 0;
  for (auto _ : state) {
    std::memcpy(window.data(), from.data() + at, kWindowBytes);
    benchmark::ClobberMemory();
    at = at + 2 * kWindowBytes <= kFileBytes ? at + kWindowBytes : 0;
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * kWindowBytes));
}
BENCHMARK(BM_Memcpy);

// Records dealt out to the ranks in turn.
void BM_PaintExtents(benchmark::State& state) {
  const uint64_t records = kFileBytes / kRecordBytes;
  Logs logs(kFileBytes / kRanks + kRecordBytes);
  std::vector<Entry> entries;
  for (uint32_t rank = 0; rank < kRanks; ++rank)
    for (uint64_t i = rank; i < records; i += kRanks)
      entries.push_back(entry_of({static_cast<int64_t>(i * kRecordBytes), kRecordBytes, 0, 1}, rank,
                                 i / kRanks * (kRecordBytes / 8), i));
  paint_file(state, entries, logs);
}
BENCHMARK(BM_PaintExtents);

// As above, but every record was written a second time, later, by the other rank: twice the bytes of the
// logs.
void BM_PaintExtentsWrittenTwice(benchmark::State& state) {
  const uint64_t records = kFileBytes / kRecordBytes;
  Logs logs(kFileBytes);
  std::vector<Entry> entries;
  for (uint32_t rank = 0; rank < kRanks; ++rank)
    for (uint64_t i = 0; i < records; ++i)
      entries.push_back(entry_of({static_cast<int64_t>(i * kRecordBytes), kRecordBytes, 0, 1}, rank,
                                 i * (kRecordBytes / 8), 2 * i + rank));
  paint_file(state, entries, logs);
}
BENCHMARK(BM_PaintExtentsWrittenTwice);

// Columns of 8 bytes, state.range(0) of them, each written by vectors of state.range(1) blocks. range(2): how
// many of the columns are there; the others are holes.
void BM_PaintColumns(benchmark::State& state) {
  const auto columns = static_cast<uint64_t>(state.range(0)), blocks = static_cast<uint64_t>(state.range(1));
  const uint64_t rows = kFileBytes / (8 * columns);
  Logs logs(kFileBytes);
  std::vector<Entry> entries;
  for (uint64_t column = 0; column < static_cast<uint64_t>(state.range(2)); ++column) {
    const auto rank = static_cast<uint32_t>(column % kRanks);
    const std::byte* data = logs.data(rank) + column / kRanks * rows * 8;
    for (uint64_t row = 0; row < rows; row += blocks) {
      const Vector v{static_cast<int64_t>((row * columns + column) * 8), 8, static_cast<int64_t>(columns * 8),
                     std::min(blocks, rows - row)};
      entries.push_back(entry_of(v, rank, logs.vectors.size(), entries.size()));
      logs.vectors.push_back({v, data + row * 8});
    }
  }
  paint_file(state, entries, logs);
}
BENCHMARK(BM_PaintColumns)
    ->ArgNames({"columns", "blocks", "written"})
    ->Args({2, 1 << 24, 2})
    ->Args({2, 4096, 2})
    ->Args({2, 4096, 1})
    ->Args({3, 100'000, 2})
    ->Args({64, 1 << 24, 64});

// order 0: sorted; 1: one ascending sequence per rank, one after the other; 2: entries of the ranks in turn,
// each rank in its own half of the file; 3: no order.
void BM_BuildRun(benchmark::State& state) {
  constexpr uint64_t kEntries = 1'000'000;
  const auto order = state.range(0);
  std::mt19937_64 random(1);
  std::vector<Entry> entries;
  for (uint64_t i = 0; i < kEntries; ++i) {
    constexpr uint64_t kHalf = kEntries / 2;
    const uint64_t at = order == 0   ? i
                        : order == 1 ? (i % kHalf) * 2 + i / kHalf
                        : order == 2 ? i / 2 + i % 2 * kHalf
                                     : random() % kEntries;
    entries.push_back(entry_of({static_cast<int64_t>(at * kRecordBytes), kRecordBytes, 0, 1}, 0, i, i));
  }
  std::vector<uint64_t> memory(run_bytes(kEntries) / 8 + 1);
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<Entry> copy = entries;
    state.ResumeTiming();
    build_run(copy, memory.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kEntries));
}
BENCHMARK(BM_BuildRun)->ArgName("order")->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

// A reader that goes through the file in steps of state.range(0) bytes.
void BM_FindSequentially(benchmark::State& state) {
  const uint64_t records = kFileBytes / kRecordBytes;
  std::vector<Entry> entries, found;
  for (uint64_t i = 0; i < records; ++i)
    entries.push_back(entry_of({static_cast<int64_t>(i * kRecordBytes), kRecordBytes, 0, 1}, 0, 0, i));
  std::vector<uint64_t> memory(run_bytes(entries.size()) / 8 + 1);
  build_run(entries, memory.data());
  const RunView run(memory.data());
  const auto step = static_cast<uint64_t>(state.range(0));
  size_t hint = 0;
  uint64_t at = 0;
  for (auto _ : state) {
    found.clear();
    run.find(at, at + step, &found, &hint);
    benchmark::DoNotOptimize(found.data());
    at = at + step < kFileBytes ? at + step : 0;
  }
}
BENCHMARK(BM_FindSequentially)->Arg(8)->Arg(1312)->Arg(1 << 20);

}  // namespace
}  // namespace pmio

BENCHMARK_MAIN();
