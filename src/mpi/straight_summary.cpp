#include "mpi/straight_summary.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "mpi/library.h"

namespace pmio {
namespace {

constexpr int kNumbers = sizeof(StraightSums) / sizeof(uint64_t);
static_assert(sizeof(StraightSums) % sizeof(uint64_t) == 0);

double milliseconds(uint64_t ns) { return static_cast<double>(ns) / 1e6; }

void print_calls(size_t rank, const StraightSums& row) {
  std::fprintf(stderr, "pmio: %5zu | %7lu %7lu %7lu | %7lu %7lu %7lu | %8.1f\n", rank, row.writes[0],
               row.writes[1], row.writes[2], row.reads[0], row.reads[1], row.reads[2],
               milliseconds(row.file_ns));
}

void print_exchange(size_t rank, const StraightSums& row) {
  std::fprintf(stderr, "pmio: %5zu | %10.1f %9.1f | %12lu %9lu | %7lu %12lu\n", rank,
               milliseconds(row.exchange_ns), milliseconds(row.wait_ns), row.message_bytes,
               row.metadata_bytes, row.windows, row.whole_stripes);
}

}  // namespace

void StraightSums::add(const FileNumbers& n) {
  const std::array<uint64_t, 3> written{n.target_writes_1k, n.target_writes_1m, n.target_writes_large};
  const std::array<uint64_t, 3> read{n.target_reads_1k, n.target_reads_1m, n.target_reads_large};
  for (size_t i = 0; i < writes.size(); i++) {
    writes[i] += written[i];
    reads[i] += read[i];
  }
  file_ns += n.target_write_ns + n.target_read_ns;
  exchange_ns += n.exchange_ns;
  wait_ns += n.arrival_ns + n.wait_ns;
  message_bytes += n.message_bytes;
  metadata_bytes += n.metadata_bytes;
  windows += n.windows;
  whole_stripes += n.whole_stripe_bytes;
}

bool StraightSums::any() const {
  const auto some = [](uint64_t count) { return count != 0; };
  return std::any_of(writes.begin(), writes.end(), some) || std::any_of(reads.begin(), reads.end(), some) ||
         exchange_ns != 0;
}

void print_straight(const StraightSums& mine, int rank, int ranks) {
  std::vector<StraightSums> rows(rank == 0 ? static_cast<size_t>(ranks) : 0);
  mpi().Gather(&mine, kNumbers, MPI_UINT64_T, rows.data(), kNumbers, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (std::none_of(rows.begin(), rows.end(), [](const StraightSums& row) { return row.any(); })) return;
  std::fprintf(stderr,
               "pmio:       | without a log: writes   | reads                   |     file\n"
               "pmio:  rank |  <=1KiB  <=1MiB  larger |  <=1KiB  <=1MiB  larger |       ms\n");
  for (size_t i = 0; i < rows.size(); i++)
    if (rows[i].any()) print_calls(i, rows[i]);
  if (std::none_of(rows.begin(), rows.end(), [](const StraightSums& row) { return row.exchange_ns != 0; }))
    return;
  std::fprintf(stderr,
               "pmio:       | collective buffering |  bytes sent           | as an aggregator\n"
               "pmio:  rank | exchange ms  wait ms |     messages metadata | windows  whole stripes\n");
  for (size_t i = 0; i < rows.size(); i++)
    if (rows[i].exchange_ns != 0) print_exchange(i, rows[i]);
}

}  // namespace pmio
