#include "mpi/summary.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <numeric>
#include <vector>

#include "mpi/library.h"

namespace pmio {
namespace {

struct Row {
#define PMIO_FIELD(name) uint64_t name;
  PMIO_COUNTERS(PMIO_FIELD)
#undef PMIO_FIELD
  uint64_t to_log_ns() const { return append_ns + direct_ns + late_open_ns; }
  uint64_t to_file_ns() const { return to_log_ns() + sync_ns + close_ns; }
};
constexpr int kFields = sizeof(Row) / sizeof(uint64_t);
constexpr size_t kColumns = 80;
constexpr const char* kPrefix = "pmio: ";

Row row_of(const Counters& counters) {
  Row row{};
#define PMIO_TAKE(name) row.name = counters.name.load(std::memory_order_relaxed);
  PMIO_COUNTERS(PMIO_TAKE)
#undef PMIO_TAKE
  return row;
}

double mib(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }
double ms(uint64_t ns) { return static_cast<double>(ns) / 1e6; }
double per_second(uint64_t bytes, uint64_t ns) { return ns == 0 ? 0 : mib(bytes) / ms(ns) * 1e3; }
uint64_t percent(uint64_t part, uint64_t whole) { return whole == 0 ? 0 : part * 100 / whole; }

void print_writes(const std::vector<Row>& rows) {
  std::fprintf(stderr,
               "pmio:       | to the log                            | to the file\n"
               "pmio:  rank |   calls      MiB       ms  waiting full |     MiB   MiB/s close ms\n");
  for (size_t rank = 0; rank < rows.size(); rank++) {
    const Row& row = rows[rank];
    std::fprintf(stderr, "pmio: %5zu | %7lu %8.1f %8.1f %8.1f %3lu%% | %7.1f %7.1f %8.1f\n", rank,
                 row.append_calls, mib(row.append_bytes), ms(row.append_ns + row.late_open_ns),
                 ms(row.append_wait_ns), percent(row.log_peak_bytes, row.log_capacity_bytes),
                 mib(row.drain_bytes), per_second(row.drain_bytes, row.drain_ns), ms(row.close_ns));
  }
}

void print_reads(const std::vector<Row>& rows) {
  std::fprintf(stderr,
               "pmio:       | reads                             | system writes to files\n"
               "pmio:  rank |   calls      MiB from log       ms |   <=1KiB   <=1MiB   larger\n");
  for (size_t rank = 0; rank < rows.size(); rank++) {
    const Row& row = rows[rank];
    std::fprintf(stderr, "pmio: %5zu | %7lu %8.1f %8.1f %8.1f | %8lu %8lu %8lu\n", rank, row.read_calls,
                 mib(row.read_bytes), mib(row.read_log_bytes), ms(row.read_ns), row.target_writes_1k,
                 row.target_writes_1m, row.target_writes_large);
  }
}

void print_times(const std::vector<Row>& rows) {
  uint64_t to_log = 0, to_file = 0, calls = 0, timed = 0, straight = 0;
  for (const Row& row : rows) {
    straight += row.direct_bytes;
    to_log = std::max(to_log, row.to_log_ns());
    to_file = std::max(to_file, row.to_file_ns());
    calls += row.append_calls + row.read_calls;
    timed += row.append_timed_calls + row.read_timed_calls;
  }
  if (straight != 0) std::fprintf(stderr, "pmio: %.1f MiB went straight to the files\n", mib(straight));
  std::fprintf(stderr, "pmio: slowest rank: in the log after %.1f ms, in the file after %.1f ms\n",
               ms(to_log), ms(to_file));
  if (timed < calls)
    std::fprintf(stderr, "pmio: timed: %lu of %lu calls, all slow ones; the rest is estimated\n", timed,
                 calls);
}

void print_files(const FileList& files) {
  std::string text = files.told(kColumns - std::string(kPrefix).size());
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) text.insert(++at, kPrefix);
  std::fprintf(stderr, "%s%s\n", kPrefix, text.c_str());
}

// Of all ranks, on rank 0.
FileList gather(const FileList& mine, int rank, int ranks) {
  const std::string packed = mine.packed();
  const int length = static_cast<int>(packed.size());
  const size_t all_ranks = rank == 0 ? static_cast<size_t>(ranks) : 0;
  std::vector<int> lengths(all_ranks), places(all_ranks);
  mpi().Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::exclusive_scan(lengths.begin(), lengths.end(), places.begin(), 0);
  std::vector<char> texts(rank == 0 ? static_cast<size_t>(places.back() + lengths.back()) : 0);
  mpi().Gatherv(packed.data(), length, MPI_CHAR, texts.data(), lengths.data(), places.data(), MPI_CHAR, 0,
                MPI_COMM_WORLD);
  FileList all;
  for (size_t i = 0; i < all_ranks; i++)
    all.add(FileList::unpack({texts.data() + places[i], static_cast<size_t>(lengths[i])}));
  return all;
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
  utsname name{};
  if (uname(&name) == 0) facts.host = name.nodename;
  return facts;
}

void print_summary(const Counters* counters, const FileList& files, int rank, int ranks) {
  const Row mine = counters == nullptr ? Row{} : row_of(*counters);
  std::vector<Row> rows(rank == 0 ? static_cast<size_t>(ranks) : 0);
  mpi().Gather(&mine, kFields, MPI_UINT64_T, rows.data(), kFields, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  const FileList all = gather(files, rank, ranks);
  if (rank != 0) return;
  const auto any = [&rows](uint64_t Row::*count) {
    return std::any_of(rows.begin(), rows.end(), [count](const Row& row) { return row.*count > 0; });
  };
  if (any(&Row::files_opened)) {
    print_writes(rows);
    if (any(&Row::read_calls) || any(&Row::drain_bytes)) print_reads(rows);
    print_times(rows);
  }
  print_files(all);
}

}  // namespace pmio
