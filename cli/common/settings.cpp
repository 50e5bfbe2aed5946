#include "cli/common/settings.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <numeric>

#include "hints/site_file.h"
#include "preload/names.h"

namespace pmio::cli {
namespace {

// What is named like a hint and is none.
constexpr const char* kNotHints[] = {"PMIO_HINTS", "PMIO_REGISTRY", "PMIO_CONFIG", "PMIO_RECOVER_SECONDS",
                                     "PMIO_RECOVER_WAIT", PMIO_ENV_COMMAND, PMIO_ENV_RUNTIME,
                                     // what pmio's build and tests read
                                     "PMIO_MPICC", "PMIO_TIDY_BASE", "PMIO_TIDY_SECONDS", "PMIO_FUZZ_SECONDS",
                                     "PMIO_SANITIZED_SEEDS", "PMIO_DEMO_PATTERN", "PMIO_TESTBED",
                                     "PMIO_FAULT_SEED", "PMIO_FAULT_SEEDS", "PMIO_FAULT_EVERY",
                                     "PMIO_FAULT_CALLS", "PMIO_YIELD_NS"};
constexpr size_t kForUsers = 4;  // of them, which are worth a suggestion

std::string mapped(std::string text, int (*map)(int)) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [map](unsigned char c) { return static_cast<char>(map(c)); });
  return text;
}

// How many letters must be changed, left out or put in to make one word of the other.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row[b.size()];
}

SettingProblem unknown(const std::string& name) {
  std::vector<std::string> known(std::begin(kNotHints), std::begin(kNotHints) + kForUsers);
  for (const std::string_view key : hint_keys()) known.push_back(mapped(std::string(key), &toupper));
  const std::string nearest = *std::min_element(
      known.begin(), known.end(),
      [&name](const std::string& a, const std::string& b) { return distance(name, a) < distance(name, b); });
  return {name + " is no variable of pmio's; the nearest is " + nearest, "correct or unset " + name};
}

void check_variable(const std::string& name, const std::string& value, Hints& hints,
                    std::vector<SettingProblem>& problems) {
  const auto is_name = [&name](std::string_view known) { return name == known; };
  if (std::any_of(std::begin(kNotHints), std::end(kNotHints), is_name)) return;
  const std::string key = mapped(name, &tolower);
  const auto is_key = [&key](std::string_view known) { return key == known; };
  if (std::none_of(hint_keys().begin(), hint_keys().end(), is_key)) {
    problems.push_back(unknown(name));
    return;
  }
  const Status status = set_hint(hints, key, value);
  if (!status.ok()) problems.push_back({name + ": " + status.message(), "correct or unset " + name});
}

}  // namespace

std::vector<std::string> problems_of_site() { return site_file().complaints; }

void adopt_site_directories() {
  for (const auto& [key, value] : site_file().hints) {
    if (key == "pmio_dir") setenv("PMIO_DIR", value.c_str(), 0);
    if (key == "pmio_stats_dir") setenv("PMIO_STATS_DIR", value.c_str(), 0);
  }
}

std::vector<SettingProblem> check_settings(Hints& hints) {
  std::vector<SettingProblem> problems;
  for (const auto& [key, value] : site_file().hints) (void)set_hint(hints, key, value);  // read as right
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const size_t equals = text.find('=');
    if (!text.starts_with("PMIO_") || equals == std::string::npos) continue;
    check_variable(text.substr(0, equals), text.substr(equals + 1), hints, problems);
  }
  const char* overriding = getenv("PMIO_HINTS");
  std::vector<std::string> complaints;
  for (const auto& [key, value] : every_override(overriding == nullptr ? "" : overriding, &complaints)) {
    Hints scratch;
    const Status status = set_hint(scratch, key, value);
    if (!status.ok()) complaints.push_back("PMIO_HINTS: " + status.message());
  }
  for (const std::string& complaint : complaints) problems.push_back({complaint, "correct PMIO_HINTS"});
  return problems;
}

}  // namespace pmio::cli
