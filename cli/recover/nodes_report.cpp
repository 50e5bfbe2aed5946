#include "cli/recover/nodes_report.h"

#include <cstdio>

#include "cli/common/report_format.h"
#include "log/call_stamp.h"

namespace pmio::cli {

std::string nodes_text(std::span<const Journal::WaitedFor> nodes) {
  std::string text;
  for (const Journal::WaitedFor& node : nodes) {
    if (!text.empty()) text += ", ";
    text += node.members.host.empty() ? "node " + std::to_string(node.node) : node.members.host;
    if (!node.members.ranks.empty()) text += " (ranks " + human_ranks(node.members.ranks) + ")";
  }
  return text;
}

nlohmann::ordered_json nodes_json(std::span<const Journal::WaitedFor> nodes) {
  auto list = nlohmann::ordered_json::array();
  for (const Journal::WaitedFor& node : nodes)
    list.push_back({{"node", node.node}, {"host", node.members.host}, {"ranks", node.members.ranks}});
  return list;
}

void print_unfinished(const UnfinishedRecovery& other) {
  const std::string nodes = nodes_text(other.waits_for);
  const std::string job = hexadecimal_id(other.job);
  if (!other.refused.empty()) {
    std::printf("%s: job %s of somebody else has left logs of it: %s\n", other.path.c_str(), job.c_str(),
                other.refused.c_str());
    return;
  }
  if (!other.given_up) {
    std::printf("%s: NOT COMPLETE: other nodes of job %s have not brought in their logs: %s\n",
                other.path.c_str(), job.c_str(), nodes.c_str());
    std::printf("  run pmio recover there; where such a log is lost: pmio recover --file %s --lost-nodes\n",
                other.path.c_str());
    return;
  }
  std::printf("%s: LOST: the logs of %s, of job %s\n", other.path.c_str(), nodes.c_str(), job.c_str());
  // Calls are counted from the moment that some rank of the job has the file open.
  const uint64_t first = first_call_not_before(other.base);
  if (first > 1)
    std::printf(
        "  the file has all collective write calls on it before number %llu since the job opened it;\n",
        static_cast<unsigned long long>(first));
  std::printf("  of what these ranks wrote %s it has what was drained, and nothing tells which\n",
              first > 1 ? "later" : "since the job opened it");
}

nlohmann::ordered_json unfinished_json(std::span<const UnfinishedRecovery> others) {
  auto list = nlohmann::ordered_json::array();
  for (const UnfinishedRecovery& other : others) {
    list.push_back({{"path", other.path},
                    {"job", hexadecimal_id(other.job)},
                    {"waits_for", nodes_json(other.waits_for)},
                    {"lost", other.given_up},
                    {"refused", other.refused},
                    {"collective_calls_in_file_before", first_call_not_before(other.base)}});
  }
  return list;
}

}  // namespace pmio::cli
