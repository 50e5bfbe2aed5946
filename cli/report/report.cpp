// `pmio report`: a job's statistics as one page of HTML that needs nothing else (page.html, with the numbers
// of `pmio stats --json` and the changes of `pmio advise --json` in it).
#include <cstdio>
#include <memory>
#include <string_view>

#include "cli/advise/job.h"
#include "cli/advise/report.h"
#include "cli/commands.h"
#include "cli/common/as_user.h"
#include "cli/profile/choice.h"
#include "cli/report/page.h"
#include "cli/stats/job_json.h"
#include "cli/stats/trace.h"

namespace pmio::cli {
namespace {

struct Options {
  JobChoice choice;
  std::string output = "pmio.html";
};

// None of a job without statistics, or if a profile is there that cannot be read: pmio advise says so.
nlohmann::ordered_json advice_for(const JobStatistics& job) {
  const auto choice = choose_machine("", ".");
  if (job.ranks.empty() || !choice.ok()) return nlohmann::ordered_json::array();
  return json_of(changes_for(record_of(job), choice.value().machine));
}

// In an element of HTML nothing may look like its end.
std::string for_page(const JobStatistics& job) {
  nlohmann::ordered_json document = json_of(job);
  document["advice"] = advice_for(job);
  std::string text = document.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  for (size_t at = 0; (at = text.find('<', at)) != std::string::npos; at += 6) text.replace(at, 1, "\\u003c");
  return text;
}

int report(const Options& options) {
  const std::vector<JobStatistics> jobs = options.choice.read();
  if (jobs.empty()) {
    std::fprintf(stderr, "pmio: no statistics %s: see pmio stats --list\n", options.choice.told().c_str());
    return 1;
  }
  std::string page = kPage;
  constexpr std::string_view kPlace = "@DATA@";
  page.replace(page.find(kPlace), kPlace.size(), for_page(jobs.front()));
  const Status written = write_text(options.output, page);
  if (!written.ok()) {
    std::fprintf(stderr, "pmio: %s\n", written.message().c_str());
    return 1;
  }
  std::printf("job %s: %s\n", jobs.front().id.c_str(), options.output.c_str());
  return 0;
}

}  // namespace

void add_report(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("report", "Write what a job did as a page of HTML: the newest job, or --job");
  options->choice.add_options(*command);
  command->add_option("-o,--output", options->output, "The page")->capture_default_str();
  command->callback([options] {
    set_exit_code(run_as_owner_of(
        options->choice.directories.front(), [&options] { return report(*options); }, 1));
  });
}

static const Registration registration(add_report);

}  // namespace pmio::cli
