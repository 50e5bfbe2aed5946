#include "mpi/buffered_file.h"

#include <unistd.h>

#include <array>
#include <limits>
#include <map>
#include <utility>

#include "hints/cb_config_list.h"
#include "layout/provider.h"
#include "layout/storage.h"
#include "medium/job_name.h"
#include "mpi/handle.h"
#include "mpi/opening.h"
#include "mpi/process.h"

namespace pmio {
namespace {

constexpr uint64_t kSmallestStripe = 64 << 10;

struct Place {
  uint32_t node;
  std::array<char, 64> host;  // ends with 0
};

std::vector<Place> places_of(MPI_Comm comm, int ranks) {
  Place mine{Process::instance().node(), {}};
  (void)gethostname(mine.host.data(), mine.host.size() - 1);
  std::vector<Place> all(static_cast<size_t>(ranks));
  mpi().Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm);
  return all;
}

// The nodes of a job may not all have ranks of the file.
Members members_of(const std::vector<Place>& places, int rank) {
  Members members{static_cast<uint32_t>(rank)};
  std::map<uint32_t, uint32_t> numbers;
  for (const Place& place : places)
    members.node_of.push_back(
        numbers.try_emplace(place.node, static_cast<uint32_t>(numbers.size())).first->second);
  return members;
}

std::vector<uint32_t> aggregators_of(const BufferingHints& hints, const std::vector<Place>& places,
                                     const Members& members, const Layout& layout) {
  if (!hints.config_list.empty()) {
    std::vector<std::string> hosts;
    for (const Place& place : places) hosts.emplace_back(place.host.data());
    const auto list = parse_cb_config_list(hints.config_list);
    std::vector<uint32_t> chosen;
    if (list.ok()) chosen = choose_by_config_list(list.value(), hosts, hints.aggregators);
    if (!chosen.empty()) return chosen;
  }
  return choose_aggregators(members, layout, hints.aggregators);
}

// As this rank sees it.
TwoPhaseOptions options_of(const Handle& handle, const std::vector<Place>& places, const Members& members) {
  const BufferingHints& hints = handle.hints->buffering;
  TwoPhaseOptions options;
  Layout layout = find_layout(*storage_of(handle.target().fd()), handle.hints->layout).layout;
  if (layout.smallest_stripe_bytes() >= kSmallestStripe) options.layout = std::move(layout);
  options.alignment = hints.alignment;
  options.writes = hints.writes;
  options.reads = hints.reads;
  options.buffer_bytes = hints.buffer_bytes;
  options.memory = hints.memory;
  options.aggregators = aggregators_of(hints, places, members, options.layout);
  if (handle.hints->layout.striping_unit >= kSmallestStripe)
    options.stripe_bytes = handle.hints->layout.striping_unit;
  return options;
}

std::vector<uint64_t> words_of(const TwoPhaseOptions& options) {
  std::vector<uint64_t> words{static_cast<uint64_t>(options.alignment),
                              static_cast<uint64_t>(options.writes),
                              static_cast<uint64_t>(options.reads),
                              options.buffer_bytes,
                              options.stripe_bytes,
                              static_cast<uint64_t>(options.memory),
                              options.aggregators.size()};
  words.insert(words.end(), options.aggregators.begin(), options.aggregators.end());
  const std::vector<uint64_t> layout = pack(options.layout);
  words.insert(words.end(), layout.begin(), layout.end());
  return words;
}

TwoPhaseOptions options_in(const std::vector<uint64_t>& words) {
  TwoPhaseOptions options;
  options.alignment = static_cast<Alignment>(words[0]);
  options.writes = static_cast<Buffering>(words[1]);
  options.reads = static_cast<Buffering>(words[2]);
  options.buffer_bytes = words[3];
  options.stripe_bytes = words[4];
  options.memory = static_cast<BufferMemory>(words[5]);
  const auto first = words.begin() + 7, last = first + static_cast<int64_t>(words[6]);
  options.aggregators.assign(first, last);
  if (auto layout = unpack({&*last, static_cast<size_t>(words.end() - last)}))
    options.layout = std::move(*layout);
  return options;
}

// Of rank 0, whatever the others' hints are.
TwoPhaseOptions agree(const TwoPhaseOptions& mine, MPI_Comm comm) {
  std::vector<uint64_t> words = words_of(mine);
  uint64_t count = words.size();
  mpi().Bcast(&count, 1, MPI_UINT64_T, 0, comm);
  words.resize(count);
  mpi().Bcast(words.data(), static_cast<int>(count), MPI_UINT64_T, 0, comm);
  return options_in(words);
}

}  // namespace

std::unique_ptr<BufferedFile> BufferedFile::make(const Handle& handle, const Opening& ranks) {
  MPI_Comm comm = ranks.duplicate();
  if (comm == MPI_COMM_NULL) return nullptr;
  const std::vector<Place> places = places_of(comm, handle.ranks);
  Members members = members_of(places, handle.rank);
  TwoPhaseOptions options = in_force(agree(options_of(handle, places, members), comm), members);
  std::string name = job_name(Process::instance().id()) + "-" + std::to_string(handle.number);
  const bool in_log = options.memory == BufferMemory::pmem;
  std::string directory = in_log ? Process::instance().log_directory(*handle.hints) : std::string();
  std::unique_ptr<BufferedFile> file(new BufferedFile(
      std::make_unique<MpiCollective>(std::move(members), comm, std::move(name), std::move(directory))));
  options.fresh_reads = Process::instance().spans_nodes();
  if (handle.straight) {
    if (FileStatistics::on()) handle.straight->target().count_servers(options.layout);
    file->store_ = std::make_unique<FileStore>(handle.straight->target());
  } else {
    auto log = std::make_unique<LogStore>(*handle.file, options.layout);
    file->log_ = log.get();
    file->store_ = std::move(log);
  }
  file->engine_ = TwoPhase::make(*file->ranks_, *file->store_, options);
  // Now, so that MPI_File_get_info tells where it is.
  if (in_log) (void)file->engine_->take_memory();
  return file;
}

TwoPhaseOptions BufferedFile::options_in_force() const {
  TwoPhaseOptions options = engine_->options();
  options.across_calls = log_ != nullptr;
  options.memory = ranks_->is_in_log() ? BufferMemory::pmem : BufferMemory::dram;
  return options;
}

}  // namespace pmio
