#include "mpi/file_notes.h"

#include <cstdlib>

#include "mpi/handle.h"
#include "mpi/info.h"
#include "mpi/next_functions.h"
#include "mpi/process.h"

namespace pmio {
namespace {

void add_alone(std::atomic<uint64_t>& counter, uint64_t by) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

uint64_t take_from(std::atomic<uint64_t>& counter) { return counter.exchange(0, std::memory_order_relaxed); }

void append_overrides(const char* variable, const char* filename, FileStatistics::Pairs* wished) {
  const char* text = std::getenv(variable);
  std::vector<std::string> complaints;
  if (text == nullptr) return;
  for (HintPair& pair : override_hints(text, filename, &complaints, variable))
    wished->push_back(std::move(pair));
}

FileStatistics::Pairs library_hints_in_force(const Handle& handle) {
  MPI_Info info = MPI_INFO_NULL;
  if (next_functions.File_get_info.next()(handle.real, &info) != MPI_SUCCESS) return {};
  FileStatistics::Pairs pairs = pairs_of(info);
  if (info != MPI_INFO_NULL) mpi().Info_free(&info);
  return pairs;
}

std::string why_logged(const Handle& handle) {
  if (handle.engine().mode() != Mode::log) return {};
  const bool gathered = handle.gathering && handle.gathering->counters().exchanged_calls > 0;
  const std::string more = gathered ? "; gathered while cold" : "";
  if (handle.hints->mode == Mode::log) return "pmio_mode=log" + more;
  return (handle.decided_late ? "it turned out not to be small" : "it was not expected to be small") + more;
}

}  // namespace

// One thread at a time is in collective calls: an addition that others would wait for is not needed.
void FileCalls::count(const Transfer& transfer, uint64_t bytes, uint64_t ns) {
  const bool writes = transfer.direction == Direction::write;
  if (transfer.collective) {
    Sum& sum = writes ? collective_writes_ : collective_reads_;
    add_alone(sum.calls, 1);
    add_alone(sum.bytes, bytes);
    add_alone(sum.ns, ns);
    return;
  }
  Sum& sum = writes ? writes_ : reads_;
  sum.calls.fetch_add(1, std::memory_order_relaxed);
  sum.bytes.fetch_add(bytes, std::memory_order_relaxed);
  sum.ns.fetch_add(ns, std::memory_order_relaxed);
}

void FileCalls::add_time(Direction direction, bool collective, uint64_t ns) {
  const bool writes = direction == Direction::write;
  if (collective)
    add_alone((writes ? collective_writes_ : collective_reads_).ns, ns);
  else
    (writes ? writes_ : reads_).ns.fetch_add(ns, std::memory_order_relaxed);
}

void FileCalls::end_split(Direction direction, uint64_t bytes, uint64_t ns) {
  Sum& sum = direction == Direction::write ? collective_writes_ : collective_reads_;
  add_alone(sum.bytes, bytes);
  add_alone(sum.ns, ns);
}

FileNumbers FileCalls::take() {
  FileNumbers taken;
  taken.collective_writes = take_from(collective_writes_.calls);
  taken.independent_writes = take_from(writes_.calls);
  taken.collective_reads = take_from(collective_reads_.calls);
  taken.independent_reads = take_from(reads_.calls);
  taken.written_bytes = take_from(collective_writes_.bytes) + take_from(writes_.bytes);
  taken.read_bytes = take_from(collective_reads_.bytes) + take_from(reads_.bytes);
  taken.write_ns = take_from(collective_writes_.ns) + take_from(writes_.ns);
  taken.read_ns = take_from(collective_reads_.ns) + take_from(reads_.ns);
  return taken;
}

void LibraryTime::end() { handle_->calls.add_time(direction_, collective_, monotonic_ns() - begin_ns_); }

FileStatistics::Pairs wished_hints(const char* filename, MPI_Info info) {
  FileStatistics::Pairs wished = environment_hints();
  for (HintPair& pair : pairs_of(info)) wished.push_back(std::move(pair));
  append_overrides("MPICH_MPIIO_HINTS", filename, &wished);
  append_overrides("PMIO_HINTS", filename, &wished);
  return wished;
}

FileStatistics::Pairs hints_in_force(const Handle& handle) {
  Hints hints = Process::instance().job_hints();
  hints.closes_in_background = handle.closes_in_background;
  FileStatistics::Pairs pairs = hints_in_force(hints, handle.engine().mode(), hints.directory);
  if (handle.buffered && !handle.in_library())
    for (HintPair& pair : buffering_in_force(handle.buffered->options_in_force()))
      pairs.push_back(std::move(pair));
  return pairs;
}

void add_to(FileNumbers& numbers, const TwoPhaseCounters& buffering) {
  numbers.exchanged_calls = buffering.exchanged_calls;
  numbers.unexchanged_calls = buffering.independent_calls;
  numbers.windows = buffering.windows;
  numbers.window_bytes = buffering.accessed_bytes;
  numbers.whole_stripe_bytes = buffering.whole_stripes;
  numbers.shared_stripes = buffering.shared_stripes;
  numbers.messages = buffering.messages;
  numbers.message_bytes = buffering.message_bytes;
  numbers.metadata_bytes = buffering.metadata_bytes;
  numbers.arrival_ns = buffering.arrival_ns;
  numbers.copy_ns = buffering.copy_ns;
  numbers.exchange_ns = buffering.exchange_ns;
  numbers.file_ns = buffering.file_ns;
  numbers.wait_ns = buffering.wait_ns;
}

void note_closing(Handle& handle) {
  if (!FileStatistics::on()) return;
  FileStatistics& all = FileStatistics::of_process();
  const std::string& path = handle.path.empty() ? handle.name : handle.path;
  const bool in_library = handle.in_library();
  const char* engine = in_library ? "library" : mode_name(handle.engine().mode());
  all.describe(path, {engine, why_logged(handle), handle.wished,
                      in_library ? library_hints_in_force(handle) : hints_in_force(handle)});
  FileNumbers numbers = handle.calls.take();
  numbers.opens = 1;
  all.add(path, numbers);
}

}  // namespace pmio
