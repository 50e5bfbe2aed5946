#include "cli/advise/report.h"

#include <cstdio>
#include <string_view>

#include "base/words.h"
#include "cli/common/report_format.h"

namespace pmio::cli {
namespace {

using advise::Basis;
using advise::Change;
using advise::Estimate;

constexpr size_t kColumns = 80;

}  // namespace

void print_wrapped(size_t indent, std::string_view text) {
  std::string line(indent, ' ');
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (line.size() > indent && line.size() + 1 + end > kColumns) {
      std::printf("%s\n", line.c_str());
      line.assign(indent, ' ');
    }
    if (line.size() > indent) line += ' ';
    line += text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::printf("%s\n", line.c_str());
}

bool complain_of(std::initializer_list<Status> all) {
  for (const Status& status : all) {
    if (status.ok()) continue;
    std::fprintf(stderr, "pmio: %s\n", status.message().c_str());
    return true;
  }
  return false;
}

std::string text_of(const Estimate& estimate) {
  return human_duration(estimate.likely) + " [" + human_duration(estimate.low) + " to " +
         human_duration(estimate.high) + "]";
}

void print_changes(const std::vector<Change>& changes) {
  size_t number = 0;
  for (const Change& change : changes) {
    std::printf("\n%zu. %s -> %s: %s\n", ++number, human_duration(change.from_seconds).c_str(),
                text_of(change.to).c_str(), change.what.c_str());
    if (!change.file.empty()) print_wrapped(4, "of " + change.file);
    if (!change.setting.empty()) print_wrapped(4, change.setting);
    if (!change.code.empty()) print_wrapped(4, "in the program: " + change.code);
    std::string because = change.because;
    if (change.basis == Basis::model) because += because.empty() ? "by the model" : " (by the model)";
    if (!because.empty()) print_wrapped(4, (change.because.empty() ? "" : "because ") + because);
  }
}

nlohmann::ordered_json json_of(const Estimate& estimate) {
  return {{"low_s", estimate.low}, {"likely_s", estimate.likely}, {"high_s", estimate.high}};
}

nlohmann::ordered_json json_of(const std::vector<Change>& changes) {
  auto all = nlohmann::ordered_json::array();
  for (const Change& change : changes)
    all.push_back({{"what", change.what},
                   {"file", change.file},
                   {"setting", change.setting},
                   {"code", change.code},
                   {"because", change.because},
                   {"basis", change.basis == Basis::model ? "model" : "measured"},
                   {"from_s", change.from_seconds},
                   {"to", json_of(change.to)}});
  return all;
}

}  // namespace pmio::cli
