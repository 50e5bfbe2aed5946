// `pmio model liu`: the figures that Liu et al. 2017 print beside what their equations give.
#include <cmath>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/common/report_format.h"
#include "cli/model/comparison.h"
#include "cli/model/paper.h"
#include "cli/model/ways.h"

namespace pmio::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* kPaper =
    "Liu, Wu, Liu, Chen, Li: Performance Evaluation and Modeling of HPC I/O on "
    "Non-Volatile Memory, 2017";
constexpr size_t kColumns = 80;

const char* verdict(bool follows) { return follows ? "follows" : "DIFFERS"; }

struct Count {
  size_t follow = 0, all = 0;
  void add(bool follows) {
    follow += follows ? 1 : 0;
    all++;
  }
};

Count count(const std::vector<Section>& sections) {
  Count count;
  for (const Section& section : sections)
    for (const Comparison& row : section.rows)
      if (row.paper && !row.other_reading) count.add(row.follows());
  return count;
}

// In lines of kColumns, broken between words.
void print_wrapped(const std::string& text) {
  size_t begin = 0;
  while (text.size() - begin > kColumns) {
    const size_t space = text.rfind(' ', begin + kColumns);
    std::printf("%s\n", text.substr(begin, space - begin).c_str());
    begin = space + 1;
  }
  std::printf("%s\n", text.c_str() + begin);
}

void print_inputs() {
  std::printf("\nParameters\n  %-32s", "bandwidth, MB/s (table IV)");
  for (const char* name : paper::kNames) std::printf("%10s", name);
  std::printf("\n  %-32s", "bdw_seq");
  for (const paper::Printed& each : paper::kTableIV.bdw_seq) std::printf("%10.2f", each.value);
  std::printf("\n  %-32s", "bdw_ran");
  for (const paper::Printed& each : paper::kTableIV.bdw_ran) std::printf("%10.2f", each.value);
  std::printf("\n  T_s %.2e s, T_w %.2e s/MB, collective buffer %.0f MB (section IV-C)\n", paper::kTs.value,
              paper::kTw.value, paper::kBufferMb);
  std::printf("  %s MB of %u processes (section IV-B), one aggregator a node (section IV-D)\n",
              human_count(paper::kWorkloadMb).c_str(), paper::kProcesses);
}

void print_row(const Comparison& row) {
  char printed[32] = "", recomputed[32], difference[32] = "";
  std::snprintf(recomputed, sizeof recomputed, "%.*f", row.decimals == 1 ? 2 : row.decimals, row.recomputed);
  if (row.paper) {
    std::snprintf(printed, sizeof printed, "%.*f", row.decimals, *row.paper);
    const double percent = row.difference_percent();
    std::snprintf(difference, sizeof difference, "%+.2f", std::abs(percent) < 0.005 ? 0 : percent);
  }
  std::printf("%s%-31s %-2s %9s %11s", row.other_reading ? "? " : "  ", row.item.c_str(), row.unit, printed,
              recomputed);
  if (row.paper) std::printf(" %11s  %s", difference, verdict(row.follows()));
  std::printf("\n    = %s\n", row.arithmetic.c_str());
}

void print_section(const Section& section) {
  std::printf("\n%s\n  %-34s %9s %11s %11s\n", section.title.c_str(), "", "paper", "recomputed",
              "difference%");
  for (const Comparison& row : section.rows) print_row(row);
  if (!section.note.empty()) print_wrapped(section.note);
}

void print_reading(const FigureReading& reading) {
  std::printf("\n  tau %.2f, %s\n", reading.tau, reading.name.c_str());
  std::printf("  %-12s %10s %12s  %-8s %s\n", "", "cost ms", "benefit ms", "cost is", "paper");
  for (const FigurePoint& each : reading.points) {
    std::printf("  %-4s%8s %10.2f %12.2f  %-8s %-8s %s\n", each.device, each.size, each.cost_seconds * 1e3,
                each.benefit_seconds * 1e3, each.cost_seconds > each.benefit_seconds ? "larger" : "smaller",
                each.paper_says_cost_is_larger ? "larger" : "smaller", verdict(each.follows()));
  }
}

// The reading as the paper has it and the best one, and a line for each.
void print_figure(const std::vector<FigureReading>& readings) {
  std::printf("\nFigure 11: cost of shuffling (equation 2) and benefit of collective I/O\n");
  print_wrapped(
      "Compared is what section IV-E says of the picture: which one is larger, and that both grow.");
  print_reading(readings.front());
  print_reading(readings.back());
  std::printf("\n  %-50s %8s  %s\n", "of the paper's 9 comparisons", "follow", "both grow by size");
  for (const FigureReading& each : readings)
    std::printf("  tau %.2f, %-40s %8zu  %s\n", each.tau, each.name.c_str(), each.followed(),
                verdict(each.both_grow));
}

void print_all(const std::vector<Section>& sections, const std::vector<FigureReading>& readings) {
  print_wrapped(kPaper);
  print_wrapped(
      "Its printed figures, beside those that its equations give for its printed parameters. A figure "
      "follows if the two differ by no more than the digits that are not printed. A question mark stands "
      "before what the paper does not say, but could mean.");
  print_inputs();
  for (const Section& section : sections) print_section(section);
  print_figure(readings);
  const Count of = count(sections);
  std::printf("\n%zu of %zu figures follow, without those with a question mark.\n", of.follow, of.all);
}

ordered_json json_of(const Comparison& row) {
  ordered_json json{
      {"item", row.item}, {"unit", row.unit}, {"paper", nullptr}, {"recomputed", row.recomputed}};
  if (row.paper) {
    json["paper"] = *row.paper;
    json["difference_percent"] = row.difference_percent();
    json["rounding"] = row.rounding;
    json["follows"] = row.follows();
    json["other_reading"] = row.other_reading;
  }
  json["arithmetic"] = row.arithmetic;
  return json;
}

ordered_json json_of(const FigureReading& reading) {
  ordered_json points = ordered_json::array();
  for (const FigurePoint& each : reading.points)
    points.push_back({{"device", each.device},
                      {"message_mb", each.message_mb},
                      {"cost_s", each.cost_seconds},
                      {"benefit_s", each.benefit_seconds},
                      {"paper", each.paper_says_cost_is_larger ? "cost larger" : "cost smaller"},
                      {"follows", each.follows()}});
  return {{"benefit", reading.name},
          {"tau", reading.tau},
          {"followed", reading.followed()},
          {"both_grow", reading.both_grow},
          {"points", std::move(points)}};
}

ordered_json json_of_inputs() {
  ordered_json devices;
  for (size_t i = 0; i < paper::devices; i++)
    devices[paper::kNames[i]] = {{"bdw_seq_mb_per_s", paper::kTableIV.bdw_seq[i].value},
                                 {"bdw_ran_mb_per_s", paper::kTableIV.bdw_ran[i].value}};
  return {{"devices", std::move(devices)},    {"t_s_s", paper::kTs.value},
          {"t_w_s_per_mb", paper::kTw.value}, {"buffer_mb", paper::kBufferMb},
          {"total_mb", paper::kWorkloadMb},   {"processes", paper::kProcesses}};
}

void print_all_json(const std::vector<Section>& sections, const std::vector<FigureReading>& readings) {
  const Count of = count(sections);
  ordered_json document{
      {"paper", kPaper}, {"parameters", json_of_inputs()}, {"figures", of.all}, {"follow", of.follow}};
  document["sections"] = ordered_json::array();
  for (const Section& section : sections) {
    ordered_json rows = ordered_json::array();
    for (const Comparison& row : section.rows) rows.push_back(json_of(row));
    document["sections"].push_back(
        {{"title", section.title}, {"rows", std::move(rows)}, {"note", section.note}});
  }
  document["figure_11"] = ordered_json::array();
  for (const FigureReading& each : readings) document["figure_11"].push_back(json_of(each));
  print_json(document);
}

}  // namespace

void add_model(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  CLI::App* model = app.add_subcommand("model", "What I/O costs by a model: pmio model ways");
  model->require_subcommand(1);
  CLI::App* command = model->add_subcommand(
      "liu", "The figures that Liu et al. 2017 print, beside what their equations give");
  command->add_flag("--json", *json, "Print JSON");
  command->footer("docs/model.md has the equations, and what does not follow.");
  command->callback([json] {
    (*json ? print_all_json : print_all)(compare_with_paper(), read_figure());
    set_exit_code(0);
  });
  add_model_ways(*model);
}

static const Registration registration(add_model);

}  // namespace pmio::cli
