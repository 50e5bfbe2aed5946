#include "mpi/summary.h"

#include <cerrno>
#include <cstdio>
#include <vector>

#include "mpi/library.h"

namespace pmio {
namespace {

struct Row {
#define PMIO_FIELD(name) uint64_t name;
  PMIO_COUNTERS(PMIO_FIELD)
#undef PMIO_FIELD
};
constexpr int kFields = sizeof(Row) / sizeof(uint64_t);

Row row_of(const Counters& counters) {
  Row row{};
#define PMIO_TAKE(name) row.name = counters.name.load(std::memory_order_relaxed);
  PMIO_COUNTERS(PMIO_TAKE)
#undef PMIO_TAKE
  return row;
}

double mb(uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }
double seconds(uint64_t ns) { return static_cast<double>(ns) / 1e9; }

void print_row(int rank, const Row& row) {
  std::fprintf(stderr,
               "pmio: %5d | %8lu %9.1f %8.3f %8.3f | %9.1f %8.3f %8.3f | %7lu %7lu %7lu | %8lu %9.1f %8.3f\n",
               rank, row.append_calls, mb(row.append_bytes), seconds(row.append_ns),
               seconds(row.append_wait_ns), mb(row.drain_bytes), seconds(row.drain_ns), seconds(row.close_ns),
               row.target_writes_1k, row.target_writes_1m, row.target_writes_large, row.read_calls,
               mb(row.read_bytes), seconds(row.read_ns));
}

}  // namespace

RunFacts run_facts(int rank, int ranks) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  mpi().Get_library_version(version, &length);
  RunFacts facts{};
  facts.rank = static_cast<uint32_t>(rank);
  facts.ranks = static_cast<uint32_t>(ranks);
  facts.program = program_invocation_name;
  facts.mpi = std::string(version).substr(0, std::string(version).find_first_of("\n,"));
  return facts;
}

void print_summary(const Counters& counters, int rank, int ranks) {
  const Row mine = row_of(counters);
  std::vector<Row> rows(rank == 0 ? static_cast<size_t>(ranks) : 0);
  mpi().Gather(&mine, kFields, MPI_UINT64_T, rows.data(), kFields, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  std::fprintf(stderr,
               "pmio:       | to the log                          | to the file                 "
               "| system writes           | reads\n"
               "pmio:  rank |    calls        MB        s  waiting |        MB  drain s  close s "
               "|   <=1K    <=1M    more |    calls        MB        s\n");
  for (int i = 0; i < ranks; ++i) print_row(i, rows[static_cast<size_t>(i)]);
}

}  // namespace pmio
