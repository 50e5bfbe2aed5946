#include "recover/scan.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <set>
#include <thread>

#include "drain/target.h"
#include "log/last_seen.h"
#include "log/target_mark.h"
#include "medium/job_name.h"
#include "node/control.h"
#include "recover/ledgers.h"

namespace pmio {
namespace {

constexpr int kLockAttempts =
    20;  // of a millisecond each: the longest that a question about liveness holds the lock

bool mark_matches_ledger(const LogDirectory& directory, const FileInfo& file) {
  auto mark = directory.map("mark-" + file_key(file.target));
  return mark.ok() && matches_ledger((*mark)->bytes());
}

// The rank whose segment has that name.
std::optional<uint32_t> rank_of_segment(const std::string& name) {
  uint32_t rank = 0, slot = 0;
  if (std::sscanf(name.c_str(), "seg-%" SCNu32 "-%" SCNu32, &rank, &slot) != 2) return {};
  return rank;
}

CutContext cut_context(const JobInfo& job, const std::vector<std::string>& names) {
  CutContext context;
  context.world = job.ranks;
  for (const std::string& name : names) {
    if (const auto rank = rank_of_segment(name)) context.with_segments.insert(*rank);
  }
  for (const UnreadableSegment& segment : job.unreadable) {
    if (const auto rank = rank_of_segment(segment.name)) context.with_unreadable.insert(*rank);
  }
  return context;
}

CutContext of_file(CutContext context, const FileInfo& file) {
  if (file.nodes) context.here.insert(file.nodes->ranks.begin(), file.nodes->ranks.end());
  return context;
}

// records and damage are known.
void examine_cut(const LogDirectory& directory, const Ledgers& ledgers, const std::vector<std::string>& names,
                 const CutContext& context, FileInfo* file) {
  if (const ControlEvidence* control = ledgers.control_of(file->target)) file->control_opens = control->opens;
  find_gone_segments(ledgers, names, file);
  file->ledger_exact = mark_matches_ledger(directory, *file);
  file->cut = find_cut(*file, of_file(context, *file));
}

// Of a running job: nobody writes it any more, and what is in the log will be in the file soon.
bool is_closed(const Ledgers& ledgers, const FileInfo& file) {
  const auto found = ledgers.moving.find(file_key(file.target));
  return found != ledgers.moving.end() && !found->second.is_open;
}

// The segments of a running job change while they are read; its control block alone tells how far it has
// come.
Cut find_progress(const Ledgers& ledgers, const FileInfo& file, const CutContext& context) {
  FileInfo calls;
  if (const auto found = ledgers.moving.find(file_key(file.target)); found != ledgers.moving.end())
    calls.control_opens = found->second.opens;
  return find_cut(calls, of_file(context, file));
}

void count_record(const LogRecord& record, bool drained, SegmentInfo* segment) {
  segment->records++;
  segment->bytes += record.length;
  if (!drained) segment->undrained_bytes += record.length;
  if ((record.flags & kLastOfCall) != 0) {
    segment->last_collective_call = std::max(segment->last_collective_call, record.collective_call);
  }
}

// Counts the valid records. Those that the ledger calls drained are believed without their data: the file has
// them, and damage to their log copy loses nothing.
void examine_records(bool judge_damage, const ControlEvidence* control, SegmentInfo* segment) {
  const uint64_t slots = (segment->segment_bytes - kHeaderBytes) / sizeof(LogRecord);
  const uint32_t claimed = static_cast<uint32_t>(std::min<uint64_t>(segment->drained, slots));
  const SegmentReader& reader = segment->reader;
  for (uint32_t i = 0; i < claimed; i++) {
    if (reader.valid(i, false)) count_record(reader.record(i), true, segment);
  }
  segment->records = segment->drained = claimed;
  const ControlEvidence::Cell* cell =
      control == nullptr ? nullptr : control->find(segment->rank, segment->salt);
  // What the rank had not returned from when it died, other ranks may have overwritten since, and drained.
  const uint64_t end = cell == nullptr ? slots : std::min<uint64_t>(slots, cell->published);
  const uint32_t valid = reader.count_valid(judge_damage, claimed, end);
  for (uint32_t i = claimed; i < valid; i++) count_record(reader.record(i), false, segment);
  if (!judge_damage) return;
  segment->damage = find_damage(reader, valid, cell, control != nullptr);
}

void add_segment(const LogDirectory& directory, const std::string& name, const FileIdentity* only,
                 JobInfo* job) {
  auto mapping = directory.map(name);
  if (!mapping.ok()) {
    if (mapping.status().system_errno() != ENOENT) job->unreadable.push_back({name, mapping.status()});
    return;
  }
  const auto bytes = (*mapping)->bytes();
  if (is_free_segment(bytes)) {
    job->free_segments.push_back(name);
    return;
  }
  auto opened = SegmentReader::open(bytes);
  if (!opened.ok()) {
    job->unreadable.push_back({name, opened.status()});
    return;
  }
  if (only != nullptr && !same_file(*only, opened->header().target)) return;
  SegmentInfo segment;
  segment.name = name;
  segment.mapping = std::move(mapping).value();
  segment.reader = std::move(opened).value();
  const SegmentHeader& header = segment.reader.header();
  segment.rank = header.rank;
  segment.slot = header.slot;
  segment.salt = header.salt;
  segment.segment_bytes = header.segment_bytes;
  segment.start_ns = header.start_ns;
  auto file = std::find_if(job->files.begin(), job->files.end(),
                           [&](const FileInfo& known) { return same_file(known.target, header.target); });
  if (file == job->files.end()) {
    file = job->files.insert(file, FileInfo{});
    file->target = header.target;
  }
  const std::string path = segment.reader.path();
  if (std::find(file->paths.begin(), file->paths.end(), path) == file->paths.end())
    file->paths.push_back(path);
  job->ranks = std::max(job->ranks, header.ranks);
  if (job->start_realtime_ns == 0 || header.start_realtime_ns < job->start_realtime_ns) {
    job->start_realtime_ns = header.start_realtime_ns;
  }
  file->segments.push_back(std::move(segment));
}

bool knows(const JobInfo& job, const FileIdentity& target) {
  return std::any_of(job.files.begin(), job.files.end(),
                     [&target](const FileInfo& file) { return same_file(file.target, target); });
}

// Files of which only a ledger is left, so that they can be cleaned up. Or only a control block, which may
// tell that there was more.
void add_files_without_segments(const Ledgers& ledgers, JobInfo* job) {
  for (const auto& [name, state] : ledgers.readable) {
    if (!knows(*job, state.target)) job->files.emplace_back().target = state.target;
  }
  for (const NodesNote& note : ledgers.notes) {
    if (!knows(*job, note.target)) job->files.emplace_back().target = note.target;
  }
  for (const auto& [key, control] : ledgers.controls) {
    FileIdentity target;
    if (std::sscanf(key.c_str(), "%" SCNx64 "-%" SCNx64, &target.device, &target.inode) != 2) continue;
    if (!control.cells.empty() && !knows(*job, target)) job->files.emplace_back().target = target;
  }
}

JobState ask_state(const LogDirectory& job) {
  if (!job.has(kAlive)) return JobState::dead;
  return job.lock(kAlive, false).ok() ? JobState::dead : JobState::running;
}

// nullopt if somebody holds it for longer than a question takes.
std::optional<FileLock> lock_briefly(const LogDirectory& directory) {
  for (int attempt = 0; attempt < kLockAttempts; attempt++) {
    auto lock = directory.lock(kRecoverLock, false);
    if (lock.ok()) return std::move(lock).value();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {};
}

template <class Value>
Value sum(const std::vector<SegmentInfo>& segments, Value (*of)(const SegmentInfo&)) {
  Value total = 0;
  for (const SegmentInfo& segment : segments) total += of(segment);
  return total;
}

}  // namespace

const char* job_state_name(JobState state) {
  switch (state) {
    case JobState::running:
      return "running";
    case JobState::dead:
      return "dead";
    case JobState::unknown:
      return "unknown, because a recovery is under way";
  }
  return "unknown";
}

bool is_free_segment(std::span<const std::byte> bytes) {
  constexpr size_t kMagic = sizeof SegmentHeader::magic;
  const auto zero = [&bytes](size_t from, size_t length) {
    const auto part = bytes.subspan(from, length);
    return std::all_of(part.begin(), part.end(), [](std::byte byte) { return byte == std::byte{0}; });
  };
  if (bytes.size() < kMinSegmentBytes) return bytes.size() < kMagic || zero(0, kMagic);
  if (!zero(0, kMagic)) return false;
  // A record is stored when the header has long been durable, and giving back clears no more than the magic.
  return !zero(kMagic, sizeof(SegmentHeader) - kMagic) ||
         zero(bytes.size() - sizeof(LogRecord), sizeof(LogRecord));
}

uint64_t FileInfo::records() const {
  return sum<uint64_t>(segments, [](const SegmentInfo& segment) -> uint64_t { return segment.records; });
}

uint64_t FileInfo::undrained_records() const {
  return sum<uint64_t>(segments, [](const SegmentInfo& segment) -> uint64_t { return segment.undrained(); });
}

uint64_t FileInfo::undrained_bytes() const {
  return sum<uint64_t>(segments, [](const SegmentInfo& segment) { return segment.undrained_bytes; });
}

uint64_t FileInfo::bytes_to_come() const {
  return std::max<uint64_t>(undrained_bytes(), lags && of_nodes ? 1 : 0);
}

std::vector<uint32_t> FileInfo::ranks() const {
  std::set<uint32_t> found;
  for (const SegmentInfo& segment : segments) {
    if (segment.records > 0) found.insert(segment.rank);
  }
  return {found.begin(), found.end()};
}

bool FileInfo::damaged() const {
  return !lost_segments.empty() ||
         std::any_of(segments.begin(), segments.end(),
                     [](const SegmentInfo& segment) { return segment.damage.has_value(); });
}

bool FileInfo::misses_ranks() const {
  return std::any_of(cut.opens.begin(), cut.opens.end(), [](const OpenCut& open) {
    return std::any_of(open.missing.begin(), open.missing.end(),
                       [](const MissingRank& rank) { return rank.reason != MissingRank::Reason::unknown; });
  });
}

std::string FileInfo::name() const {
  if (!paths.empty()) return paths.front();
  return "(device " + std::to_string(target.device) + ", inode " + std::to_string(target.inode) + ")";
}

Result<JobInfo> scan_job(const LogDirectory& directory, const std::string& name, JobState state,
                         const FileIdentity* only) {
  auto names = directory.names();
  if (!names.ok()) return names.status();
  JobInfo job;
  job.name = name;
  job.id = job_of(name).value_or(0);
  job.directory = directory.path();
  job.state = state;
  Ledgers ledgers;
  for (const std::string& entry : *names) {
    if (entry.starts_with("seg-")) add_segment(directory, entry, only, &job);
    if (entry.starts_with("ledger-")) read_ledger(directory, entry, &ledgers);
    if (entry.starts_with("nodes-")) read_note(directory, entry, &ledgers);
    if (entry.starts_with(kControlPrefix))
      read_control(directory, entry, state == JobState::dead ? &ledgers.controls : &ledgers.moving);
  }
  if (only == nullptr) add_files_without_segments(ledgers, &job);
  const CutContext context = cut_context(job, *names);
  for (FileInfo& file : job.files) {
    apply_ledgers(ledgers, &file);
    apply_notes(ledgers, &file);
    const ControlEvidence* control = ledgers.control_of(file.target);
    find_lost_segments(ledgers, &file);
    for (SegmentInfo& segment : file.segments) examine_records(state == JobState::dead, control, &segment);
    std::sort(file.segments.begin(), file.segments.end(), [](const SegmentInfo& a, const SegmentInfo& b) {
      return std::tie(a.rank, a.start_ns, a.slot) < std::tie(b.rank, b.start_ns, b.slot);
    });
    file.lags = state == JobState::running && is_closed(ledgers, file);
    if (state != JobState::dead)
      file.cut = find_progress(ledgers, file, context);
    else if (!file.discarded)
      examine_cut(directory, ledgers, *names, context, &file);
  }
  return job;
}

Result<std::vector<std::string>> job_names(const LogDirectory& directory) {
  auto names = directory.names();
  if (names.ok()) std::erase_if(*names, [](const std::string& name) { return !job_of(name); });
  return names;
}

Result<std::vector<JobInfo>> scan(const std::string& directory) {
  auto opened = LogDirectory::open(directory);
  if (!opened.ok()) {
    if (opened.status().system_errno() == ENOENT) return std::vector<JobInfo>();
    return opened.status();
  }
  auto names = job_names(*opened);
  if (!names.ok()) return names.status();
  std::vector<JobInfo> jobs;
  if (names->empty()) return jobs;
  for (const std::string& name : *names) {
    auto job_directory = opened->open_below(name);
    if (!job_directory.ok()) {
      if (job_directory.status().system_errno() == ENOENT) continue;  // it has just ended
      if (job_directory.status().code() != Code::access) return job_directory.status();
      // Something of that name that is no directory of the caller's alone.
      JobInfo& refused = jobs.emplace_back();
      refused.name = name;
      refused.id = job_of(name).value_or(0);
      refused.state = JobState::dead;
      refused.directory = opened->path() + "/" + name;
      refused.unreadable.push_back({".", job_directory.status()});
      continue;
    }
    JobState state = JobState::unknown;
    if (auto lock = lock_briefly(*opened)) state = ask_state(*job_directory);
    auto job = scan_job(*job_directory, name, state);
    if (!job.ok()) return job.status();
    jobs.push_back(std::move(job).value());
  }
  std::stable_sort(jobs.begin(), jobs.end(), [](const JobInfo& a, const JobInfo& b) {
    return a.start_realtime_ns < b.start_realtime_ns;
  });
  return jobs;
}

}  // namespace pmio
