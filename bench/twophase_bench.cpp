// Collective buffering without MPI: ranks are threads, and nodes too are faked. How long a piece takes from
// the program's buffer to the file, of each rank's share of interleaved pieces.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string>

#include "support/fake_collective.h"
#include "twophase/two_phase.h"

namespace pmio {
namespace {

constexpr uint64_t kBytesPerRank = uint64_t{32} << 20;

class Scratch {
 public:
  explicit Scratch(const char* directory) : path_(std::string(directory) + "/pmio-bench-XXXXXX") {
    const int fd = mkstemp(path_.data());
    if (fd >= 0) close(fd);
  }
  ~Scratch() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Each rank's buffer and view: every ranks-th piece.
struct Share {
  Share(uint32_t rank, uint32_t ranks, uint64_t piece)
      : buffer(kBytesPerRank / piece * piece, static_cast<std::byte>(rank)) {
    view.add({static_cast<int64_t>(rank * piece), piece});
    view.finish(static_cast<int64_t>(ranks * piece));
  }
  TwoPhaseRequest request() { return {&view, 0, 0, &memory, buffer.data(), buffer.size()}; }
  Pattern view, memory = Pattern::bytes(1);
  std::vector<std::byte> buffer;
};

// Arguments: bytes of a piece, ranks, nodes, whether it reads. One call moves all bytes; the file is written
// once before.
void pieces(benchmark::State& state) {
  const auto piece = static_cast<uint64_t>(state.range(0));
  const auto ranks = static_cast<uint32_t>(state.range(1)), nodes = static_cast<uint32_t>(state.range(2));
  const bool reads = state.range(3) != 0;
  std::vector<uint32_t> node_of(ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) node_of[rank] = rank * nodes / ranks;
  const Scratch scratch("/dev/shm");
  test::FakeNetwork network(node_of);
  std::atomic<uint32_t> arrived{0};
  std::atomic<bool> more{true};
  network.run([&](Collective& collective) {
    auto file = TargetFile::open(scratch.path(), TargetFile::Access::read_write);
    if (!file.ok()) return;
    TwoPhaseOptions options;
    options.writes = options.reads = Buffering::enable;
    FileStore store(*file.value());
    auto two_phase = TwoPhase::make(collective, store, options);
    const uint32_t rank = collective.members().rank;
    Share share(rank, ranks, piece);
    uint64_t got = 0;
    (void)two_phase->write(share.request()).ok();
    const auto call = [&] {
      (void)(reads ? two_phase->read(share.request(), &got) : two_phase->write(share.request())).ok();
    };
    if (rank == 0) {
      for (auto _ : state) {
        ++arrived;
        arrived.notify_all();
        call();
      }
      const TwoPhaseCounters& counters = two_phase->counters();
      state.counters["metadata_bytes_per_call"] =
          static_cast<double>(counters.metadata_bytes) / static_cast<double>(counters.calls);
      more = false;
      ++arrived;
      arrived.notify_all();
    } else {
      for (uint32_t calls = 0;; ++calls) {
        arrived.wait(calls);
        if (!more) break;
        call();
      }
    }
  });
  const uint64_t each = kBytesPerRank / piece * ranks;
  state.counters["ns_per_piece"] =
      benchmark::Counter(static_cast<double>(each) * static_cast<double>(state.iterations()) / 1e9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(each * piece));
}

BENCHMARK(pieces)
    ->ArgNames({"piece", "ranks", "nodes", "reads"})
    ->ArgsProduct({{8, 1312, 65536}, {2}, {1, 2}, {0, 1}})
    ->Args({1312, 4, 2, 0})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pmio

BENCHMARK_MAIN();
