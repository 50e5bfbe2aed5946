// `pmio stats`: the statistics that a job's processes left, per rank and in total. The time until the bytes
// were in the log and the time until they were in the file are told apart. In 80 columns, in MiB and ms.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/common/as_user.h"
#include "cli/common/report_format.h"
#include "cli/stats/files.h"
#include "cli/stats/job_json.h"
#include "cli/stats/jobs.h"
#include "cli/stats/trace.h"
#include "stats/file_list.h"

namespace pmio::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kColumns = 80;

struct Options {
  JobChoice choice;
  bool list = false;
  bool json = false;
  std::string trace;
};

std::string mib(double bytes) { return human_decimal(bytes / (1 << 20)); }
std::string mib(uint64_t bytes) { return mib(static_cast<double>(bytes)); }
std::string ms(uint64_t ns) { return human_decimal(static_cast<double>(ns) / 1e6); }

using Row = std::vector<std::string> (*)(const Numbers& numbers);

void print_table(const char* title, std::vector<std::string> columns, const Ranks& ranks, Row row) {
  std::printf("\n%s\n", title);
  columns.insert(columns.begin(), "  rank");
  Table table(std::move(columns));
  const auto add = [&](const std::string& name, const Numbers& numbers) {
    std::vector<std::string> cells = row(numbers);
    cells.insert(cells.begin(), "  " + name);
    table.add(std::move(cells));
  };
  for (const RankStatistics& rank : ranks) add(std::to_string(rank.rank), rank.numbers);
  if (ranks.size() > 1) add("all", total_of(ranks));
  table.print();
}

void print_system_calls(const Ranks& ranks) {
  print_table("System writes to files, by size", {"<= 1 KiB", "<= 1 MiB", "larger", "MiB", "ms"}, ranks,
              [](const Numbers& n) -> std::vector<std::string> {
                return {human_count(n.target_writes_1k), human_count(n.target_writes_1m),
                        human_count(n.target_writes_large), mib(n.target_write_bytes), ms(n.target_write_ns)};
              });
  print_table("System reads from files, by size", {"<= 1 KiB", "<= 1 MiB", "larger", "MiB", "ms"}, ranks,
              [](const Numbers& n) -> std::vector<std::string> {
                return {human_count(n.target_reads_1k), human_count(n.target_reads_1m),
                        human_count(n.target_reads_large), mib(n.target_read_bytes), ms(n.target_read_ns)};
              });
}

void print_calls(const Ranks& ranks) {
  print_table("MPI-IO writes, in MiB", {"collective", "independent", "logged", "past the log", "handed on"},
              ranks, [](const Numbers& n) -> std::vector<std::string> {
                return {human_count(n.collective_writes), human_count(n.independent_writes),
                        mib(n.append_bytes), mib(n.direct_bytes), human_count(n.handed_on_calls)};
              });
  print_table("MPI-IO reads, in MiB", {"collective", "independent", "read", "from the log", "from the file"},
              ranks, [](const Numbers& n) -> std::vector<std::string> {
                return {human_count(n.collective_reads), human_count(n.independent_reads), mib(n.read_bytes),
                        mib(n.read_log_bytes), mib(n.read_file_bytes)};
              });
}

void print_phases(const Ranks& ranks) {
  print_table("Time by phase, in ms; `waiting` is part of `to log`; merge and drain are beside",
              {"open", "to log", "waiting", "read", "sync", "close", "merge", "drain"}, ranks,
              [](const Numbers& n) -> std::vector<std::string> {
                return {ms(n.open_ns), ms(n.to_log_ns()), ms(n.append_wait_ns), ms(n.read_ns),
                        ms(n.sync_ns), ms(n.close_ns),    ms(n.merge_ns),       ms(n.drain_ns)};
              });
  const Numbers total = total_of(ranks);
  const uint64_t calls = total.append_calls + total.read_calls;
  const uint64_t timed = total.append_timed_calls + total.read_timed_calls;
  if (timed < calls)
    std::printf("  %s of %s calls were timed, the slow ones among them; the rest is estimated\n",
                human_count(timed).c_str(), human_count(calls).c_str());
}

void print_summary(const Ranks& ranks) {
  const Numbers total = total_of(ranks);
  const uint64_t bytes = total.append_bytes + total.direct_bytes;
  const uint64_t to_log = slowest(ranks, &Numbers::to_log_ns), to_file = slowest(ranks, &Numbers::to_file_ns);
  std::printf("\nWritten by all ranks: %s MiB, in %s calls and %s records\n", mib(bytes).c_str(),
              human_count(total.append_calls + total.direct_calls).c_str(),
              human_count(total.append_records).c_str());
  Table table({"  the slowest rank", "ms", "MiB/s"});
  table.add({"  until it was in the log", ms(to_log), mib(bytes_per_second(bytes, to_log))});
  table.add({"  until it was in the file", ms(to_file), mib(bytes_per_second(bytes, to_file))});
  table.print();
  std::printf("Drained at %s MiB/s; the fullest log was %.0f%% full\nWaiting for room, all ranks: %s ms\n",
              mib(bytes_per_second(total.drain_bytes, total.drain_ns)).c_str(), peak_fill(ranks) * 100,
              ms(total.append_wait_ns).c_str());
}

FileList file_list_of(const Ranks& ranks) {
  FileList files;
  for (const RankStatistics& rank : ranks) {
    const auto list = rank.document.find("files");
    if (list == rank.document.end() || !list->is_array()) continue;
    for (const Json& file : *list)
      files.add(file.value("path", std::string()), file.value("reason", std::string()));
  }
  return files;
}

void print_header(const JobStatistics& job) {
  std::printf("job %s: %s, %s, %lu ranks\n", job.id.c_str(), job.program().c_str(), job.state.c_str(),
              job.number("ranks"));
  // Nobody knows when a killed job ended.
  const std::string took =
      job.ranks.empty() ? ""
                        : "took " + human_decimal(static_cast<double>(job.number("wall_ns")) / 1e9) + " s, ";
  std::printf("  began %s on %s, %s%s\n", local_time(job.number("start_realtime_ns")).c_str(),
              job.fact("host").c_str(), took.c_str(), job.fact("mpi").c_str());
  if (job.has_log())
    std::printf("  log in %s (%s)\n", job.fact("log_directory").c_str(), job.fact("medium").c_str());
  if (job.ranks.empty()) {
    if (job.state == "running")
      std::printf("  it has no statistics before MPI_Finalize; pmio inspect shows its log\n");
    else if (job.bytes_in_log)
      std::printf("  no statistics; its log holds %s MiB that are not in the files: pmio recover\n",
                  mib(*job.bytes_in_log).c_str());
    else
      std::printf("  no statistics; its log is not there any more: recovered, or thrown away\n");
    return;
  }
  const FileList files = file_list_of(job.ranks);
  if (!files.reasons().empty()) std::printf("  %s\n", files.told(kColumns - 2).c_str());
}

void print_list(const std::vector<JobStatistics>& jobs) {
  Table table({"job", "began", "host", "ranks", "s", "state", "program"});
  for (const JobStatistics& job : jobs)
    table.add({job.id, local_time(job.number("start_realtime_ns")).substr(0, 16),
               job.fact("host").substr(0, 10), std::to_string(job.number("ranks")),
               job.ranks.empty() ? "-" : human_decimal(static_cast<double>(job.number("wall_ns")) / 1e9),
               job.state, job.program()});
  table.print();
}

int write_trace(const JobStatistics& job, const std::string& path) {
  const Status written = write_text(path, trace_of(job));
  if (written.ok())
    std::printf("job %s: %s, for ui.perfetto.dev\n", job.id.c_str(), path.c_str());
  else
    std::fprintf(stderr, "pmio: %s\n", written.message().c_str());
  return written.ok() ? 0 : 1;
}

int run(const Options& options) {
  const std::vector<JobStatistics> jobs = options.choice.read();
  if (jobs.empty()) {
    std::fprintf(
        stderr,
        "pmio: no statistics %s; a job that logged a file leaves them there at MPI_Finalize, and the "
        "last 16 jobs' are kept\n",
        options.choice.told().c_str());
    return 1;
  }
  if (options.list && !options.json) {
    print_list(jobs);
    return 0;
  }
  if (options.json) {
    Json all = Json::array();
    for (const JobStatistics& job : jobs) all.push_back(json_of(job));
    print_json(options.list ? Json{{"format", "pmio-stats-list-1"}, {"jobs", all}} : all.front());
    return 0;
  }
  const JobStatistics& job = jobs.front();
  if (!options.trace.empty()) return write_trace(job, options.trace);
  if (jobs.size() > 1)
    std::printf("The newest of %zu jobs in %s; pmio stats --list shows all\n", jobs.size(),
                options.choice.told_directories().c_str());
  print_header(job);
  if (job.ranks.empty()) return 0;
  if (job.has_log()) {
    print_summary(job.ranks);
    print_phases(job.ranks);
    print_calls(job.ranks);
  }
  print_system_calls(job.ranks);
  print_files(files_of(job.ranks));
  return 0;
}

}  // namespace

void add_stats(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("stats", "Show what a job did: the newest in the log directory, or --job");
  options->choice.add_options(*command);
  command->add_flag("--list", options->list, "A line per job: when, where, how long, which program");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_option("--trace", options->trace,
                      "Write what happened over time to a file that Perfetto shows");
  command->footer(
      "Of a job that was killed there are no statistics, only what its log tells. Exit status: 0, 1 there "
      "are none, "
      "2 usage.");
  command->callback([options] {
    set_exit_code(run_as_owner_of(
        options->choice.directories.front(), [&options] { return run(*options); }, 1));
  });
}

static const Registration registration(add_stats);

}  // namespace pmio::cli
