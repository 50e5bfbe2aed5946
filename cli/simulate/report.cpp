#include "cli/simulate/report.h"

#include <cstdio>
#include <functional>

#include "cli/common/report_format.h"

namespace pmio::cli {
namespace {

using nlohmann::ordered_json;
using simulate::Outcome;
using simulate::Scenario;

// human_bytes takes whole numbers of 64 bits.
std::string amount(double bytes) {
  constexpr double kMost = 9e18;
  if (bytes < kMost) return human_bytes(static_cast<uint64_t>(bytes));
  char text[32];
  std::snprintf(text, sizeof text, "%.3g B", bytes);
  return text;
}

std::string percent(double part) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f %%", part * 100);
  return text;
}

void print_scenario(const Scenario& scenario) {
  const simulate::Job& job = scenario.job;
  std::printf("%s nodes of %s ranks; %s checkpoints of %s, each after %s of computing\n",
              human_count(job.nodes).c_str(), human_count(job.ranks_per_node).c_str(),
              human_count(job.checkpoints).c_str(), human_bytes(job.bytes()).c_str(),
              human_duration(job.compute_seconds).c_str());
  std::printf("records of %s, %s; %s of a node in a checkpoint\n", human_bytes(job.record_bytes).c_str(),
              job.layout == simulate::Layout::strided ? "strided" : "in segments",
              human_bytes(job.node_bytes()).c_str());
  std::printf("%s servers of %.0f MB/s, %s stripes; links of %.0f MB/s; log of %s a node\n\n",
              human_count(scenario.storage.servers).c_str(), scenario.storage.bytes_per_second / 1e6,
              human_bytes(scenario.storage.stripe_bytes).c_str(),
              scenario.network.link_bytes_per_second / 1e6,
              amount(scenario.log.medium.capacity_bytes).c_str());
}

void print_ways(const SimulatedWays& ways, bool fails) {
  std::vector<std::string> titles{""};
  for (const SimulatedWay& way : ways) titles.emplace_back(name_of(way.outcome.way));
  Table table(std::move(titles));
  const auto row = [&](const char* name, const std::function<std::string(const SimulatedWay&)>& text) {
    std::vector<std::string> cells{name};
    for (const SimulatedWay& way : ways) cells.push_back(text(way));
    table.add(std::move(cells));
  };
  row("time-to-log", [](const SimulatedWay& w) { return human_duration(w.outcome.to_log_seconds()); });
  row("  at most", [](const SimulatedWay& w) { return human_duration(w.outcome.most_to_log_seconds()); });
  row("time-to-file", [](const SimulatedWay& w) { return human_duration(w.outcome.to_file_seconds()); });
  row("  at most", [](const SimulatedWay& w) { return human_duration(w.outcome.most_to_file_seconds()); });
  row("the run", [](const SimulatedWay& w) { return human_duration(w.outcome.seconds); });
  row("  of it not computing",
      [](const SimulatedWay& w) { return human_duration(w.outcome.waiting_seconds()); });
  row("servers in use", [](const SimulatedWay& w) { return percent(w.outcome.utilisation()); });
  row("log used, of a node", [](const SimulatedWay& w) { return amount(w.outcome.most_held_bytes); });
  row("at risk on a node", [](const SimulatedWay& w) { return amount(w.risk.held_bytes); });
  row("expected loss in the run", [](const SimulatedWay& w) { return amount(w.risk.lost_bytes); });
  row("work lost by a failure",
      [](const SimulatedWay& w) { return human_duration(w.risk.repeated_seconds); });
  table.print();
  if (fails) std::printf("\nExpected failures in the run by the log: %.3g\n", ways.back().risk.failures);
}

void print_rounds(const Scenario& scenario, const Outcome& log) {
  const simulate::Rounds& rounds = log.rounds;
  if (log.log_wait_seconds > 0)
    std::printf("The log was full: the program waited %s for room.\n",
                human_duration(log.log_wait_seconds).c_str());
  if (scenario.job.nodes > 1) {
    std::printf("pmio's rounds: %s, %s messages and %s from node 0, %s without the writes.\n",
                human_count(rounds.count).c_str(),
                human_count(static_cast<uint64_t>(rounds.messages)).c_str(),
                amount(rounds.sent_bytes).c_str(), human_duration(rounds.seconds).c_str());
    std::printf("A plan takes %s on node 0. A close asks each leader %s questions, which takes %s.\n",
                amount(rounds.coordinator_bytes).c_str(),
                human_count(static_cast<uint64_t>(rounds.questions)).c_str(),
                human_duration(rounds.question_seconds).c_str());
  }
  if (!log.not_logged.empty())
    std::printf("pmio would log nothing here: %s. The column shows it without that limit.\n",
                log.not_logged.c_str());
}

ordered_json json_of(const SimulatedWay& way) {
  const Outcome& outcome = way.outcome;
  ordered_json json{{"to_log_s", outcome.to_log_seconds()},
                    {"most_to_log_s", outcome.most_to_log_seconds()},
                    {"to_file_s", outcome.to_file_seconds()},
                    {"most_to_file_s", outcome.most_to_file_seconds()},
                    {"run_s", outcome.seconds},
                    {"not_computing_s", outcome.waiting_seconds()},
                    {"written_bytes", outcome.written_bytes},
                    {"utilisation", outcome.utilisation()},
                    {"log_used_bytes", outcome.most_held_bytes},
                    {"log_wait_s", outcome.log_wait_seconds},
                    {"failures", way.risk.failures},
                    {"held_bytes", way.risk.held_bytes},
                    {"drawn_held_bytes", way.risk.drawn_held_bytes},
                    {"lost_bytes", way.risk.lost_bytes},
                    {"repeated_s", way.risk.repeated_seconds},
                    {"drawn_repeated_s", way.risk.drawn_repeated_seconds},
                    {"events", outcome.events}};
  for (const simulate::Checkpoint& each : outcome.checkpoints)
    json["checkpoints"].push_back(
        {{"begun_s", each.begun}, {"written_s", each.written}, {"in_file_s", each.in_file}});
  if (outcome.way != simulate::Way::log) return json;
  json["not_logged"] = outcome.not_logged.empty() ? ordered_json() : ordered_json(outcome.not_logged);
  const simulate::Rounds& rounds = outcome.rounds;
  json["rounds"] = {{"count", rounds.count},
                    {"without_writes_s", rounds.seconds},
                    {"messages", rounds.messages},
                    {"sent_bytes", rounds.sent_bytes},
                    {"plan_bytes", rounds.coordinator_bytes},
                    {"questions", rounds.questions},
                    {"question_s", rounds.question_seconds},
                    {"descriptors", rounds.descriptors}};
  return json;
}

ordered_json json_of(const Scenario& scenario) {
  const bool strided = scenario.job.layout == simulate::Layout::strided;
  const bool by_nodes = scenario.collective.exchange == simulate::Exchange::nodes;
  return {{"nodes", scenario.job.nodes},
          {"ranks_per_node", scenario.job.ranks_per_node},
          {"record_bytes", scenario.job.record_bytes},
          {"records", scenario.job.records},
          {"layout", strided ? "strided" : "segments"},
          {"checkpoints", scenario.job.checkpoints},
          {"compute_s", scenario.job.compute_seconds},
          {"servers", scenario.storage.servers},
          {"server_bytes_per_s", scenario.storage.bytes_per_second},
          {"request_s", scenario.storage.request_seconds},
          {"lock_s", scenario.storage.lock_seconds},
          {"stripe_bytes", scenario.storage.stripe_bytes},
          {"link_bytes_per_s", scenario.network.link_bytes_per_second},
          {"core_bytes_per_s", scenario.network.core_bytes_per_second},
          {"message_s", scenario.network.message_seconds},
          {"rank_message_s", scenario.network.rank_message_seconds},
          {"leader_message_s", scenario.network.leader_message_seconds},
          {"leader_bytes_per_s", scenario.network.leader_bytes_per_second},
          {"aggregators", scenario.collective.aggregators},
          {"exchange", by_nodes ? "nodes" : "ranks"},
          {"log_bytes_per_s", scenario.log.medium.warm_bytes_per_second},
          {"cold_log_bytes_per_s", scenario.log.medium.cold_bytes_per_second},
          {"log_capacity_bytes", scenario.log.medium.capacity_bytes},
          {"durable_log", scenario.log.durable},
          {"close_waits", scenario.log.close_waits},
          {"descriptors", scenario.log.descriptors},
          {"mtbf_s", scenario.failures.node_mtbf_seconds},
          {"seed", scenario.failures.seed}};
}

}  // namespace

void print_simulation(const Scenario& scenario, const SimulatedWays& ways) {
  print_scenario(scenario);
  print_ways(ways, scenario.failures.node_mtbf_seconds > 0);
  print_rounds(scenario, ways.back().outcome);
  std::printf("\nBy a simulation, whose limits docs/simulate.md tells; MB are 10^6 bytes.\n");
}

void print_simulation_json(const Scenario& scenario, const SimulatedWays& ways) {
  ordered_json document{{"scenario", json_of(scenario)}};
  for (const SimulatedWay& way : ways) document["ways"][name_of(way.outcome.way)] = json_of(way);
  print_json(document);
}

}  // namespace pmio::cli
