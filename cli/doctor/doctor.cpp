// `pmio doctor`: what durability and speed this machine gives to logs, and what is misconfigured.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>

#include "cli/commands.h"
#include "cli/common/report_format.h"
#include "cli/doctor/checks.h"
#include "cli/doctor/program.h"
#include "medium/default_directory.h"

namespace pmio::cli {
namespace {

struct Options {
  std::string directory, file, program;
  uint32_t ranks = 0;
  bool json = false;
};

std::string reason_of(const Options& options, const std::string& directory) {
  if (!options.directory.empty()) return "given by --dir";
  const char* variable = getenv("PMIO_DIR");
  if (variable != nullptr && expand_directory(variable).ok()) return "given by PMIO_DIR or the site";
  if (directory.starts_with("/dev/shm/")) return "the default, memory of this node";
  return "because /dev/shm cannot be written";
}

Diagnosis diagnose(const Options& options) {
  Diagnosis diagnosis;
  diagnosis.directory = options.directory.empty() ? default_directory() : options.directory;
  while (diagnosis.directory.size() > 1 && diagnosis.directory.back() == '/') diagnosis.directory.pop_back();
  diagnosis.reason = reason_of(options, diagnosis.directory);
  diagnosis.ranks = options.ranks != 0 ? options.ranks : std::max(1u, std::thread::hardware_concurrency());
  check_environment(diagnosis);
  check_directory(diagnosis);
  check_medium(diagnosis);
  measure_bandwidth(diagnosis);
  check_huge_pages(diagnosis);
  check_runtimes(diagnosis);
  check_leftovers(diagnosis);
  check_registry(diagnosis);
  check_profile(diagnosis);
  if (!options.file.empty()) check_file(diagnosis, options.file);
  if (!options.program.empty()) check_program(diagnosis, options.program);
  return diagnosis;
}

const char* survives_power_failure(const Diagnosis& diagnosis) {
  if (diagnosis.medium->kind == MediumKind::tmpfs) return "no, logs are in volatile memory";
  if (diagnosis.medium->kind == MediumKind::dax) return "yes, every write that returned";
  switch (diagnosis.hints.durability) {
    case Durability::always:
      return "yes, every write that returned (pmio_durability=always)";
    case Durability::sync:
      return "what MPI_File_sync or MPI_File_close returned from (pmio_durability=sync)";
    case Durability::none:
      return "no (pmio_durability=none)";
  }
  return "";
}

// Of the table in docs/durability.md.
std::string durability_row(const Diagnosis& diagnosis) {
  std::string kind = medium_kind_name(diagnosis.medium->kind);
  if (diagnosis.medium->kind != MediumKind::disk) return kind;
  return kind + ", " + durability_name(diagnosis.hints.durability);
}

std::string rate(double bytes_per_s) {
  return bytes_per_s == 0 ? "not measured" : human_bytes(static_cast<uint64_t>(bytes_per_s)) + "/s";
}

void line(const char* label, const std::string& text) { printf("%-22s%s\n", label, text.c_str()); }

// The tightest is the one that counts.
void print_limits(const Diagnosis& diagnosis) {
  const MemoryLimit* tightest = nullptr;
  (void)room_bytes(diagnosis.limits, Keep::all, &tightest);
  const char* label = "limits";
  for (const MemoryLimit& limit : diagnosis.limits) {
    line(std::exchange(label, ""), human_bytes(limit.left_bytes) + " of " + human_bytes(limit.limit_bytes) +
                                       " left of " + limit.source +
                                       (&limit == tightest ? ", which counts" : ""));
  }
}

void print_text(const Diagnosis& diagnosis) {
  line("log directory",
       diagnosis.directory + " (" + diagnosis.reason + (diagnosis.exists ? ")" : "; not there yet)"));
  if (diagnosis.medium) {
    const MediumFacts& medium = *diagnosis.medium;
    line("medium", std::string(medium_kind_name(medium.kind)) + " (" + medium.file_system + ")");
    line("survives a crash", "yes, every write that returned");
    line("survives power loss", survives_power_failure(diagnosis));
    line("durability", "row '" + durability_row(diagnosis) + "' of pmio-durability(7)");
    line("free", human_bytes(medium.free_bytes) + " of " + human_bytes(diagnosis.total_bytes));
    print_limits(diagnosis);
    const bool given = diagnosis.hints.log_bytes != 0;
    line("log per rank", human_bytes(diagnosis.capacity_bytes) + (given ? " (PMIO_LOG_SIZE)" : "") +
                             ", for " + std::to_string(diagnosis.ranks) + " ranks on this node");
    line("into the log",
         rate(diagnosis.cold_bytes_per_s) + " cold, " + rate(diagnosis.copy_bytes_per_s) + " warm, one rank");
    if (medium.file_system == "tmpfs")
      line("huge pages", std::string("huge=") + huge_pages_name(medium.huge) +
                             "; cold into huge pages: " + rate(diagnosis.huge_bytes_per_s));
    if (medium.kind != MediumKind::tmpfs) line("and synced", rate(diagnosis.durable_bytes_per_s));
  }
  line("runtime libraries", list_tags(diagnosis.runtimes));
  line("jobs", std::to_string(diagnosis.running_jobs) + " running, " +
                   std::to_string(diagnosis.dead_jobs.size()) + " to recover");
  line("profile", diagnosis.profile);
  if (diagnosis.file) {
    const char* label = "layout of the file";
    for (const std::string& text : lines_of(*diagnosis.file)) line(std::exchange(label, ""), text);
  }
  if (!diagnosis.program.empty())
    line("program", diagnosis.program + (diagnosis.program_mpi.empty() ? ", links no MPI library itself"
                                                                       : ", MPI: " + diagnosis.program_mpi));
  if (diagnosis.findings.empty()) printf("\nNothing is wrong.\n");
  for (const Finding& advice : diagnosis.advice)
    printf("\nfaster: %s\n   do: %s\n", advice.what.c_str(), advice.remedy.c_str());
  for (const Finding& finding : diagnosis.findings) {
    printf("\nwrong: %s\n   do: %s\n", finding.what.c_str(), finding.remedy.c_str());
  }
}

nlohmann::ordered_json limits_json(const Diagnosis& diagnosis) {
  auto limits = nlohmann::ordered_json::array();
  for (const MemoryLimit& limit : diagnosis.limits)
    limits.push_back(
        {{"of", limit.source}, {"limit_bytes", limit.limit_bytes}, {"left_bytes", limit.left_bytes}});
  return limits;
}

nlohmann::ordered_json medium_json(const Diagnosis& diagnosis) {
  const MediumFacts& medium = *diagnosis.medium;
  return {{"kind", medium_kind_name(medium.kind)},
          {"file_system", medium.file_system},
          {"survives_process_death", true},
          {"survives_power_failure", survives_power_failure(diagnosis)},
          {"durability_row", durability_row(diagnosis)},
          {"free_bytes", medium.free_bytes},
          {"total_bytes", diagnosis.total_bytes},
          {"ranks", diagnosis.ranks},
          {"limits", limits_json(diagnosis)},
          {"capacity_bytes_per_rank", diagnosis.capacity_bytes},
          {"huge_pages", huge_pages_name(medium.huge)},
          {"cold_bytes_per_s", diagnosis.cold_bytes_per_s},
          {"copy_bytes_per_s", diagnosis.copy_bytes_per_s},
          {"huge_bytes_per_s", diagnosis.huge_bytes_per_s},
          {"durable_bytes_per_s", diagnosis.durable_bytes_per_s}};
}

nlohmann::ordered_json findings_json(const std::vector<Finding>& findings) {
  auto list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings)
    list.push_back({{"what", finding.what}, {"remedy", finding.remedy}});
  return list;
}

void print_as_json(const Diagnosis& diagnosis) {
  nlohmann::ordered_json document;
  document["directory"] = diagnosis.directory;
  document["reason"] = diagnosis.reason;
  document["exists"] = diagnosis.exists;
  if (diagnosis.medium) document["medium"] = medium_json(diagnosis);
  document["runtimes"] = nlohmann::ordered_json::array();
  for (const Runtime& runtime : diagnosis.runtimes) {
    document["runtimes"].push_back(
        {{"tag", runtime.tag}, {"library", runtime.library}, {"present", runtime.present}});
  }
  document["running_jobs"] = diagnosis.running_jobs;
  document["dead_jobs"] = nlohmann::ordered_json::array();
  for (const Leftover& job : diagnosis.dead_jobs) {
    document["dead_jobs"].push_back({{"job", job.job}, {"undrained_bytes", job.undrained_bytes}});
  }
  document["profile"] = diagnosis.profile;
  if (diagnosis.file) document["file"] = json_of(*diagnosis.file);
  if (!diagnosis.program.empty())
    document["program"] = {{"path", diagnosis.program}, {"mpi", diagnosis.program_mpi}};
  document["findings"] = findings_json(diagnosis.findings);
  document["advice"] = findings_json(diagnosis.advice);
  print_json(document);
}

int doctor(const Options& options) {
  const Diagnosis diagnosis = diagnose(options);
  if (options.json) {
    print_as_json(diagnosis);
  } else {
    print_text(diagnosis);
  }
  return diagnosis.findings.empty() ? 0 : 1;
}

}  // namespace

void add_doctor(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "doctor", "Say what durability and speed this machine gives, and what is misconfigured");
  command->add_option("--dir", options->directory,
                      "Log directory to look at (default: the one that would be taken)");
  command->add_option("--ranks", options->ranks,
                      "Ranks on this node that share it (default: the number of processors)");
  command->add_option("--file", options->file,
                      "Say how this file lies on the servers of its file system, too");
  command->add_option("program", options->program,
                      "A program: can pmio take it over, and does what it loads go through MPI-IO?");
  command->add_flag("--json", options->json, "For scripts");
  command->callback([options] { set_exit_code(doctor(*options)); });
}

static const Registration registration(add_doctor);

}  // namespace pmio::cli
