// `pmio inspect`: what lies in a log directory, without touching it.
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/common/as_user.h"
#include "cli/common/damage_report.h"
#include "cli/common/report_format.h"
#include "medium/default_directory.h"
#include "recover/held.h"
#include "recover/scan.h"

namespace pmio::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string directory = default_directory();
  std::string path;  // empty: all files
  bool records = false;
  bool json = false;
};

Json json_of(const LogRecord& record, uint32_t index, const SegmentInfo& segment) {
  return {{"index", index},
          {"offset", record.file_offset},
          {"bytes", record.length},
          {"block_bytes", record.block_length},
          {"stride", record.stride},
          {"stamp_ns", record.stamp_ns},
          {"collective_call", record.collective_call},
          {"last_of_call", (record.flags & kLastOfCall) != 0},
          {"drained", index < segment.drained}};
}

Json json_of(const SegmentInfo& segment, bool records) {
  Json entry{{"name", segment.name},
             {"rank", segment.rank},
             {"slot", segment.slot},
             {"segment_bytes", segment.segment_bytes},
             {"records", segment.records},
             {"drained_records", segment.drained},
             {"bytes", segment.bytes},
             {"undrained_bytes", segment.undrained_bytes},
             {"last_collective_call", segment.last_collective_call},
             {"damaged", segment.damage.has_value()}};
  if (segment.damage) entry["damage"] = damage_json(*segment.damage);
  if (!records) return entry;
  entry["log"] = Json::array();
  for (uint32_t i = 0; i < segment.records; i++) {
    entry["log"].push_back(json_of(segment.reader.record(i), i, segment));
  }
  return entry;
}

Json json_of(const FileInfo& file, bool records) {
  Json entry{{"paths", file.paths},
             {"device", file.target.device},
             {"inode", file.target.inode},
             {"discarded", file.discarded},
             {"lags", file.lags},
             {"ledger_damaged", file.ledger_damaged},
             {"ranks", file.ranks()},
             {"records", file.records()},
             {"undrained_records", file.undrained_records()},
             {"undrained_bytes", file.undrained_bytes()},
             {"last_complete_collective_call", file.cut.complete_call()},
             {"lost_segments", Json::array()},
             {"segments", Json::array()}};
  for (const LostSegment& segment : file.lost_segments) {
    entry["lost_segments"].push_back({{"name", segment.name},
                                      {"rank", segment.rank},
                                      {"records", segment.records},
                                      {"within", range_json(segment.within)}});
  }
  for (const SegmentInfo& segment : file.segments) entry["segments"].push_back(json_of(segment, records));
  return entry;
}

Json json_of(const JobInfo& job, bool records) {
  Json entry{{"job", hexadecimal_id(job.id)},
             {"directory", job.directory},
             {"state", job_state_name(job.state)},
             {"start_realtime_ns", job.start_realtime_ns},
             {"ranks", job.ranks},
             {"free_segments", job.free_segments.size()},
             {"unreadable_segments", Json::array()},
             {"files", Json::array()}};
  for (const UnreadableSegment& segment : job.unreadable) {
    entry["unreadable_segments"].push_back({{"name", segment.name}, {"reason", segment.reason.message()}});
  }
  for (const FileInfo& file : job.files) entry["files"].push_back(json_of(file, records));
  return entry;
}

std::string state_of(const SegmentInfo& segment) {
  if (segment.damage) {
    return "DAMAGED at record " + std::to_string(segment.damage->first) + " of " +
           std::to_string(segment.damage->acknowledged);
  }
  return segment.undrained() == 0 ? "in the file" : "to be written";
}

void print_segments(const FileInfo& file) {
  Table table({"    segment", "rank", "records", "in file", "bytes", "to write", "last call", "state"});
  for (const SegmentInfo& segment : file.segments) {
    table.add({"    " + segment.name, std::to_string(segment.rank), human_count(segment.records),
               human_count(segment.drained), human_bytes(segment.bytes), human_bytes(segment.undrained_bytes),
               std::to_string(segment.last_collective_call), state_of(segment)});
  }
  table.print();
}

void print_records(const FileInfo& file) {
  Table table({"    record", "offset", "bytes", "blocks", "stride", "call", "stamp ns", "state"});
  for (const SegmentInfo& segment : file.segments) {
    for (uint32_t i = 0; i < segment.records; i++) {
      const LogRecord& record = segment.reader.record(i);
      if (record.block_length == 0) continue;  // a drained one whose copy in the log is damaged
      table.add({"    " + segment.name + "/" + std::to_string(i), std::to_string(record.file_offset),
                 std::to_string(record.length), std::to_string(record.length / record.block_length),
                 std::to_string(record.stride), std::to_string(record.collective_call),
                 std::to_string(record.stamp_ns), i < segment.drained ? "in the file" : "to be written"});
    }
  }
  table.print();
}

void print_file(const FileInfo& file, bool records) {
  std::printf("  %s\n", file.name().c_str());
  for (size_t i = 1; i < file.paths.size(); i++)
    std::printf("    also opened as %s\n", file.paths[i].c_str());
  if (file.discarded) std::printf("    deleted by the program: will not be restored\n");
  if (file.lags) std::printf("    closed, and being completed (pmio_close=background)\n");
  if (file.ledger_damaged) std::printf("    DAMAGED ledger: nobody knows what is in the file already\n");
  std::printf("    %s of %s records to be written, %s, ranks %s",
              human_count(file.undrained_records()).c_str(), human_count(file.records()).c_str(),
              human_bytes(file.undrained_bytes()).c_str(), human_ranks(file.ranks()).c_str());
  if (file.cut.complete_call() > 0)
    std::printf(", collective calls complete up to %u", file.cut.complete_call());
  std::printf("\n");
  for (const LostSegment& segment : file.lost_segments) {
    std::printf("    LOST %s: %s records of rank %u were acknowledged, nothing of it can be read%s\n",
                segment.name.c_str(), human_count(segment.records).c_str(), segment.rank,
                segment.within ? ("; not outside of " + range_text(*segment.within)).c_str() : "");
  }
  for (const SegmentInfo& segment : file.segments) {
    if (segment.damage)
      std::printf("    DAMAGED %s: rank %u: %s\n", segment.name.c_str(), segment.rank,
                  damage_text(*segment.damage).c_str());
  }
  if (!file.segments.empty()) records ? print_records(file) : print_segments(file);
}

void print_job(const JobInfo& job, bool records) {
  std::printf("job %s: %s", hexadecimal_id(job.id).c_str(), job_state_name(job.state));
  if (job.ranks > 0) std::printf(", %u ranks", job.ranks);
  if (job.start_realtime_ns > 0) std::printf(", since %s", local_time(job.start_realtime_ns).c_str());
  if (!job.free_segments.empty()) std::printf(", %zu segments without a log", job.free_segments.size());
  std::printf("\n");
  for (const FileInfo& file : job.files) print_file(file, records);
  for (const UnreadableSegment& segment : job.unreadable) {
    std::printf("  UNREADABLE %s: %s\n", segment.name.c_str(), segment.reason.message().c_str());
  }
}

void keep_only(const std::string& path, std::vector<JobInfo>* jobs) {
  for (JobInfo& job : *jobs) {
    std::erase_if(job.files, [&path](const FileInfo& file) { return !is_file_at(file, path); });
    job.unreadable.clear();
  }
  std::erase_if(*jobs, [](const JobInfo& job) { return job.files.empty(); });
}

void print_held(const std::vector<JobInfo>& jobs, const std::string& path) {
  uint64_t bytes = 0;
  for (const JobInfo& job : jobs)
    for (const FileInfo& file : job.files) bytes += file.discarded ? 0 : file.undrained_bytes();
  std::printf("%s: %s\n", path.c_str(),
              bytes == 0 ? "nothing of it is in a log only"
                         : (human_bytes(bytes) + " of it are in logs, and not in the file yet").c_str());
}

int run(const Options& options) {
  auto jobs = scan(options.directory);
  if (!jobs.ok()) {
    std::fprintf(stderr, "pmio: %s\n", jobs.status().message().c_str());
    return 1;
  }
  if (!options.path.empty()) keep_only(options.path, &*jobs);
  if (options.json) {
    Json document{{"format", "pmio-inspect-1"}, {"directory", options.directory}, {"jobs", Json::array()}};
    for (const JobInfo& job : *jobs) document["jobs"].push_back(json_of(job, options.records));
    print_json(document);
    return 0;
  }
  if (!options.path.empty()) print_held(*jobs, options.path);
  for (const JobInfo& job : *jobs) print_job(job, options.records);
  if (jobs->empty() && options.path.empty()) std::printf("No logs in %s\n", options.directory.c_str());
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("inspect", "Show the logs in a log directory, and their damage");
  command->add_option("file", options->path, "Only this file: how much of it is in no file yet");
  command->add_option("--dir", options->directory, "The log directory")->capture_default_str();
  command->add_flag("--records", options->records, "Every record, rather than a line per segment");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] {
    set_exit_code(run_as_owner_of(
        options->directory, [&options] { return run(*options); }, 1));
  });
}

static const Registration registration(add_inspect);

}  // namespace pmio::cli
