#include "cli/simulate/options.h"

#include "cli/profile/place.h"

namespace pmio::cli {
namespace {

using simulate::Scenario;

constexpr double kMega = 1e6, kMicro = 1e-6, kHour = 3600;

// Adds options that set a figure of the scenario, each after the profile has been read. The SimulateOptions
// stay where they are.
class Adder {
 public:
  Adder(CLI::App& command, SimulateOptions& options) : command_(command), options_(options) {}
  void group(const char* name) { group_ = name; }

  using Number = double& (*)(Scenario& scenario);
  using Whole = uint64_t& (*)(Scenario& scenario);
  // in: what one of the option's unit is.
  void number(const char* name, double in, Number at, const std::string& text) {
    auto set = [&given = options_.given, in, at](const double& value) {
      given.emplace_back([=](Scenario& scenario) { at(scenario) = value * in; });
    };
    command_.add_option_function<double>(name, set, text)->group(group_);
  }
  CLI::Option* whole(const char* name, Whole at, const std::string& text) {
    auto set = [&given = options_.given, at](const uint64_t& value) {
      given.emplace_back([=](Scenario& scenario) { at(scenario) = value; });
    };
    return command_.add_option_function<uint64_t>(name, set, text)->group(group_);
  }
  CLI::Option* size(const char* name, Whole at, const std::string& text) {
    return whole(name, at, text)->transform(CLI::AsSizeValue(false));
  }
  void flag(const char* name, bool& (*at)(Scenario& scenario), const char* text) {
    command_
        .add_flag_callback(
            name,
            [&given = options_.given, at] {
              given.emplace_back([=](Scenario& scenario) { at(scenario) = true; });
            },
            text)
        ->group(group_);
  }
  // One of two words.
  void choice(const char* name, const char* first, const char* second, void (*set)(Scenario&, bool second),
              const char* text) {
    auto chosen = [&given = options_.given, second = std::string(second), set](const std::string& word) {
      given.emplace_back([set, is = word == second](Scenario& scenario) { set(scenario, is); });
    };
    command_.add_option_function<std::string>(name, chosen, text)
        ->group(group_)
        ->check(CLI::IsMember({first, second}));
  }

 private:
  CLI::App& command_;
  SimulateOptions& options_;
  std::string group_;
};

void add_job(Adder& add, CLI::App& command, SimulateOptions& options) {
  add.group("The job");
  add.whole(
      "--nodes", [](Scenario& s) -> uint64_t& { return s.job.nodes; }, "1 to 1,000,000 (1000)");
  add.whole(
      "--ranks-per-node", [](Scenario& s) -> uint64_t& { return s.job.ranks_per_node; }, "(32)");
  add.size(
      "--record-bytes", [](Scenario& s) -> uint64_t& { return s.job.record_bytes; },
      "Of a rank in a call, such as 1312 or 1M (64K)");
  CLI::Option* const records = add.whole(
      "--records", [](Scenario& s) -> uint64_t& { return s.job.records; },
      "Of a rank in a checkpoint (1024)");
  command.add_option("--rank-bytes", options.rank_bytes, "Instead of --records, such as 64M")
      ->group("The job")
      ->transform(CLI::AsSizeValue(false))
      ->excludes(records);
  add.choice(
      "--layout", "strided", "segments",
      [](Scenario& s, bool second) {
        s.job.layout = second ? simulate::Layout::segments : simulate::Layout::strided;
      },
      "strided: each call writes one range, a record of each rank after the other; segments: each rank has a "
      "range of its own (strided)");
  add.whole(
      "--checkpoints", [](Scenario& s) -> uint64_t& { return s.job.checkpoints; }, "(6)");
  add.number(
      "--compute", 1, [](Scenario& s) -> double& { return s.job.compute_seconds; },
      "Seconds of computing before each checkpoint (600)");
}

void add_storage(Adder& add) {
  add.group("Storage and network");
  add.whole(
      "--servers", [](Scenario& s) -> uint64_t& { return s.storage.servers; }, "I/O servers (64)");
  add.number(
      "--server-rate", kMega, [](Scenario& s) -> double& { return s.storage.bytes_per_second; },
      "Of one, MB/s (2000)");
  add.number(
      "--request-time", kMicro, [](Scenario& s) -> double& { return s.storage.request_seconds; },
      "Of a server for each request whatever its size, us (50)");
  add.number(
      "--lock-time", kMicro, [](Scenario& s) -> double& { return s.storage.lock_seconds; },
      "Besides, if another node wrote the stripe last, us (1000)");
  add.size(
      "--stripe", [](Scenario& s) -> uint64_t& { return s.storage.stripe_bytes; }, "(1M)");
  add.number(
      "--link-rate", kMega, [](Scenario& s) -> double& { return s.network.link_bytes_per_second; },
      "Of a node, MB/s each way (12500)");
  add.number(
      "--core-rate", kMega, [](Scenario& s) -> double& { return s.network.core_bytes_per_second; },
      "Of all nodes together, MB/s; 0: no bound (0)");
  add.number(
      "--message-time", kMicro, [](Scenario& s) -> double& { return s.network.message_seconds; },
      "From node to node, us (50)");
  add.number(
      "--rank-message-time", kMicro, [](Scenario& s) -> double& { return s.network.rank_message_seconds; },
      "Of an aggregator for each message that it receives, us (2)");
  add.number(
      "--leader-message-time", kMicro,
      [](Scenario& s) -> double& { return s.network.leader_message_seconds; },
      "Of the thread of a leader for each of pmio's messages, us (15)");
  add.number(
      "--leader-rate", kMega, [](Scenario& s) -> double& { return s.network.leader_bytes_per_second; },
      "Of that thread in bytes of messages, MB/s (1410)");
}

void add_ways(Adder& add) {
  add.group("Collective writes");
  add.whole(
      "--aggregators", [](Scenario& s) -> uint64_t& { return s.collective.aggregators; },
      "0: one a node (0)");
  add.choice(
      "--exchange", "nodes", "ranks",
      [](Scenario& s, bool second) {
        s.collective.exchange = second ? simulate::Exchange::ranks : simulate::Exchange::nodes;
      },
      "Who tells each aggregator what it has: nodes, as in pmio's engine, or ranks, as in ROMIO (nodes)");
  add.group("pmio's log");
  add.number(
      "--log-rate", kMega, [](Scenario& s) -> double& { return s.log.medium.warm_bytes_per_second; },
      "Of a node, MB/s (8165)");
  add.number(
      "--cold-log-rate", kMega, [](Scenario& s) -> double& { return s.log.medium.cold_bytes_per_second; },
      "Likewise to what of the log was not touched before (2659)");
  add.number(
      "--log-capacity", kMega, [](Scenario& s) -> double& { return s.log.medium.capacity_bytes; },
      "Of a node, MB (32000)");
  add.flag(
      "--durable-log", [](Scenario& s) -> bool& { return s.log.durable; },
      "The log survives the failure of its node: DAX, a disk");
  add.flag(
      "--close-waits", [](Scenario& s) -> bool& { return s.log.close_waits; },
      "A close waits until the file is complete, as without pmio_close=background");
  add.whole(
      "--descriptors", [](Scenario& s) -> uint64_t& { return s.log.descriptors; },
      "That a process may have, ulimit -Hn; 0: no bound (1048576)");
}

void add_others(Adder& add) {
  add.group("Failures");
  add.number(
      "--mtbf", kHour, [](Scenario& s) -> double& { return s.failures.node_mtbf_seconds; },
      "Mean time between failures of one node, hours; 0: none fails (43800)");
  add.whole(
      "--seed", [](Scenario& s) -> uint64_t& { return s.failures.seed; }, "Of the failures (1)");
  add.group("Precision");
  add.whole(
      "--classes", [](Scenario& s) -> uint64_t& { return s.precision.classes; },
      "Of equal nodes; as many nodes are simulated each by itself (256)");
  add.whole(
      "--steps", [](Scenario& s) -> uint64_t& { return s.precision.steps; },
      "Of a writer; as many requests are simulated each by itself (256)");
}

}  // namespace

void add_simulate_options(CLI::App& command, SimulateOptions& options) {
  command.add_option("--profile", options.profile,
                     "Log, copies and messages by a profile of pmio calibrate (built-in figures)");
  command.add_flag("--json", options.json, "Print JSON");
  Adder add(command, options);
  add_job(add, command, options);
  add_storage(add);
  add_ways(add);
  add_others(add);
}

Result<Scenario> scenario_of(const SimulateOptions& options) {
  Scenario scenario;
  if (!options.profile.empty()) {
    const auto profile = load_profile(options.profile);
    if (!profile.ok()) return profile.status();
    const model::Machine machine = machine_of(profile.value(), nullptr);
    const double capacity = scenario.log.medium.capacity_bytes;
    scenario.log.medium = machine.log;
    scenario.log.medium.capacity_bytes = capacity;  // of a node of the cluster, and not of this machine
    scenario.copies = machine.exchange;
    scenario.network.message_seconds = machine.exchange.message_seconds;
  }
  for (const auto& set : options.given) set(scenario);
  if (options.rank_bytes != 0) {
    if (options.rank_bytes % scenario.job.record_bytes != 0)
      return Status(Code::invalid, "--rank-bytes is no multiple of --record-bytes");
    scenario.job.records = options.rank_bytes / scenario.job.record_bytes;
  }
  PMIO_TRY(check(scenario));
  return scenario;
}

}  // namespace pmio::cli
