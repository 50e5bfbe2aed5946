#include "hints/hints.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <optional>

#include "hints/buffering_hints.h"
#include "hints/site_file.h"
#include "hints/values.h"
#include "medium/default_directory.h"

namespace pmio {
namespace {

constexpr std::string_view kPrefix = "pmio_";

bool is_one_of(std::string_view value, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), value) != words.end();
}

bool is_on(std::string_view value) { return is_one_of(value, {"1", "on", "true", "yes", "enable"}); }
// src/preload/takeover.c knows the same, where PMIO_MODE says them.
bool is_off(std::string_view value) { return is_one_of(value, {"0", "off", "false", "no", "disable"}); }

Status set_mode(Hints& hints, std::string_view key, std::string_view value) {
  if (value == "auto" || is_on(value))
    hints.mode = Mode::automatic;
  else if (value == "log")
    hints.mode = Mode::log;
  else if (value == "independent")
    hints.mode = Mode::independent;
  else if (value == "twophase")
    hints.mode = Mode::twophase;
  else if (is_off(value) || value == "absent")  // the same once a runtime library is there
    hints.mode = Mode::off;
  else
    return bad_value(key, value, "auto, log, independent, twophase or off");
  return {};
}

Status set_durability(Hints& hints, std::string_view key, std::string_view value) {
  if (value == "always")
    hints.durability = Durability::always;
  else if (value == "sync")
    hints.durability = Durability::sync;
  else if (value == "none")
    hints.durability = Durability::none;
  else
    return bad_value(key, value, "always, sync or none");
  return {};
}

// Of an enum with automatic, on and off.
template <class Choice>
Status set_choice(Choice& into, std::string_view key, std::string_view value) {
  if (value == "auto") {
    into = Choice::automatic;
    return {};
  }
  bool on = false;
  if (!set_switch(on, key, value).ok()) return bad_value(key, value, "auto, on or off");
  into = on ? Choice::on : Choice::off;
  return {};
}

template <class Choice>
const char* choice_name(Choice value) {
  switch (value) {
    case Choice::automatic:
      return "auto";
    case Choice::on:
      return "on";
    case Choice::off:
      break;
  }
  return "off";
}

const char* goal_name(Goal goal) {
  switch (goal) {
    case Goal::automatic:
      return "auto";
    case Goal::time_to_log:
      return "time-to-log";
    case Goal::time_to_file:
      break;
  }
  return "time-to-file";
}

Status set_directory(std::string& into, std::string_view key, std::string_view value) {
  Result<std::string> directory = expand_directory(value);
  if (!directory.ok())
    return {Code::invalid, "hint " + std::string(key) + ": " + directory.status().message()};
  into = std::move(directory).value();
  return {};
}

Status set_stats(Hints& hints, std::string_view key, std::string_view value) {
  if (value == "0" || value == "off")
    hints.stats = 0;
  else if (value == "1" || value == "on")
    hints.stats = 1;
  else if (value == "2")
    hints.stats = 2;
  else
    return bad_value(key, value, "0, 1 or 2");
  return {};
}

Status set_max_age(Hints& hints, std::string_view key, std::string_view value) {
  if (is_off(value)) {
    hints.max_age_ns = 0;
    return {};
  }
  const Result<uint64_t> age = parse_duration(value);
  if (!age.ok()) return bad_value(key, value, "a time such as 2, 0.5, 500ms or off");
  hints.max_age_ns = age.value();
  return {};
}

Status set_close(Hints& hints, std::string_view key, std::string_view value) {
  if (value != "complete" && value != "background") return bad_value(key, value, "complete or background");
  hints.closes_in_background = value == "background";
  return {};
}

Status set_direct_from(Hints& hints, std::string_view key, std::string_view value) {
  if (value == "auto") {
    hints.direct_from = kDirectFrom;
    return {};
  }
  if (is_off(value)) {
    hints.direct_from = {};
    return {};
  }
  const Result<uint64_t> bytes = parse_bytes(value);
  if (!bytes.ok()) return bad_value(key, value, "a size such as 65536, 64K or 1M, auto or off");
  hints.direct_from = {bytes.value(), bytes.value()};
  return {};
}

Status set_goal(Hints& hints, std::string_view key, std::string_view value) {
  for (const Goal goal : {Goal::automatic, Goal::time_to_log, Goal::time_to_file})
    if (value == goal_name(goal)) {
      hints.goal = goal;
      return {};
    }
  return bad_value(key, value, "auto, time-to-log or time-to-file");
}

const std::array<std::string_view, 19> kKeys{
    "pmio_mode",       "pmio_dir",          "pmio_log_size",     "pmio_index_memory", "pmio_durability",
    "pmio_background", "pmio_stats",        "pmio_across_nodes", "pmio_interface",    "pmio_keep_closed",
    "pmio_max_age",    "pmio_close",        "pmio_direct_from",  "pmio_gather",       "pmio_cb_align",
    "pmio_cb_memory",  "pmio_cb_buffering", "pmio_stats_dir",    "pmio_goal"};

// In seconds.
std::string duration_text(uint64_t ns) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", static_cast<double>(ns) / 1e9);
  return text.data();
}

std::string direct_from_text(const DirectFrom& from) {
  if (from == kDirectFrom) return "auto";
  return from.warm == UINT64_MAX ? "off" : std::to_string(from.warm);
}

std::string lower(std::string_view text) {
  std::string word(text);
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word;
}

std::string_view take_until(std::string_view& text, char separator) {
  const size_t at = text.find(separator);
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return head;
}

std::string program_file() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

}  // namespace

Status bad_value(std::string_view key, std::string_view value, const char* expected) {
  return {Code::invalid, "hint " + std::string(key) + ": '" + std::string(value) + "' is not " + expected};
}

Status set_bytes(uint64_t& into, std::string_view key, std::string_view value) {
  const Result<uint64_t> bytes = parse_bytes(value);
  if (!bytes.ok()) return bad_value(key, value, "a size such as 67108864, 64M or 1GiB");
  into = bytes.value();
  return {};
}

Status set_count(uint32_t& into, std::string_view key, std::string_view value, const char* what) {
  uint64_t count = 0;
  PMIO_TRY(set_bytes(count, key, value));
  if (count > UINT32_MAX) return bad_value(key, value, what);
  into = static_cast<uint32_t>(count);
  return {};
}

Status set_switch(bool& into, std::string_view key, std::string_view value) {
  if (!is_on(value) && !is_off(value)) return bad_value(key, value, "on or off");
  into = is_on(value);
  return {};
}

// 0: the default.
static Status set_log_size(Hints& hints, std::string_view key, std::string_view value) {
  constexpr uint64_t kLeast = uint64_t{1} << 20, kMost = uint64_t{64} << 30;
  uint64_t bytes = 0;
  PMIO_TRY(set_bytes(bytes, key, value));
  if (bytes != 0 && (bytes < kLeast || bytes > kMost)) return bad_value(key, value, "1M to 64G");
  hints.log_bytes = bytes;
  return {};
}

Status set_hint(Hints& hints, std::string_view key, std::string_view value) {
  if (key == "striping_unit") return set_bytes(hints.layout.striping_unit, key, value);
  if (key == "striping_factor")
    return set_count(hints.layout.striping_factor, key, value, "a number of servers");
  if (std::optional<Status> set = set_buffering_hint(hints.buffering, key, value)) return *std::move(set);
  if (key.substr(0, kPrefix.size()) != kPrefix) return {};
  if (key == "pmio_dir") return set_directory(hints.directory, key, value);
  if (key == "pmio_stats_dir") return set_directory(hints.stats_directory, key, value);
  if (key == "pmio_interface") {
    hints.interface = value;
    return {};
  }
  const std::string word = lower(value);
  value = word;
  if (key == "pmio_mode") return set_mode(hints, key, value);
  if (key == "pmio_log_size") return set_log_size(hints, key, value);
  if (key == "pmio_index_memory") return set_bytes(hints.index_bytes, key, value);
  if (key == "pmio_durability") return set_durability(hints, key, value);
  if (key == "pmio_background") return set_switch(hints.background, key, value);
  if (key == "pmio_max_age") return set_max_age(hints, key, value);
  if (key == "pmio_close") return set_close(hints, key, value);
  if (key == "pmio_direct_from") return set_direct_from(hints, key, value);
  if (key == "pmio_gather") return set_choice(hints.gather, key, value);
  if (key == "pmio_goal") return set_goal(hints, key, value);
  if (key == "pmio_keep_closed") return set_switch(hints.keep_closed, key, value);
  if (key == "pmio_stats") return set_stats(hints, key, value);
  if (key == "pmio_across_nodes") return set_choice(hints.across_nodes, key, value);
  std::string known;
  for (const std::string_view name : kKeys) known += (known.empty() ? "" : ", ") + std::string(name);
  return {Code::invalid, "hint " + std::string(key) + " is unknown; known are " + known};
}

// Whether name is that of the variable for key: PMIO_MODE for pmio_mode.
static bool is_variable_of(std::string_view name, std::string_view key) {
  return std::equal(name.begin(), name.end(), key.begin(), key.end(),
                    [](unsigned char a, unsigned char b) { return a == std::toupper(b); });
}

static std::vector<HintPair> in_environment() {
  std::vector<HintPair> pairs;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; variable++) {
    std::string_view value = *variable;
    const std::string_view name = take_until(value, '=');
    const auto* key = std::find_if(kKeys.begin(), kKeys.end(),
                                   [name](std::string_view one) { return is_variable_of(name, one); });
    // As getenv has it, the first of two is the one that counts.
    if (key == kKeys.end() ||
        std::any_of(pairs.begin(), pairs.end(), [key](const HintPair& pair) { return pair.first == *key; }))
      continue;
    pairs.emplace_back(*key, value);
  }
  return pairs;
}

bool SeenEnvironment::is_now() const {
  size_t i = 0;
  for (; environ != nullptr && environ[i] != nullptr; i++)
    if (i == strings_.size() || strings_[i] != environ[i]) return false;
  return i == strings_.size();
}

void SeenEnvironment::see() {
  strings_.clear();
  for (char** variable = environ; variable != nullptr && *variable != nullptr; variable++)
    strings_.push_back(*variable);
}

std::vector<HintPair> environment_hints() {
  const SiteFile& site = site_file();
  std::vector<HintPair> pairs = site.hints;
  static const bool leaves_alone = !site.programs_off.empty() && site.leaves_alone(program_file());
  if (leaves_alone) pairs.emplace_back("pmio_mode", "off");
  if (const char* alignment = std::getenv("MPICH_MPIIO_CB_ALIGN"))
    pairs.emplace_back("pmio_cb_align", alignment);
  for (HintPair& pair : in_environment()) pairs.push_back(std::move(pair));
  return pairs;
}

std::span<const std::string_view> hint_keys() { return kKeys; }

DirectFrom direct_from(const Hints& hints, bool closes_in_background) {
  if (hints.direct_from != kDirectFrom) return hints.direct_from;
  if (hints.goal == Goal::time_to_log) return {};
  if (closes_in_background) return kDirectFromInBackground;
  DirectFrom from = kDirectFrom;
  from.unless_hidden = hints.goal != Goal::time_to_file;
  return from;
}

const char* mode_name(Mode mode) {
  switch (mode) {
    case Mode::automatic:
      return "auto";
    case Mode::log:
      return "log";
    case Mode::independent:
      return "independent";
    case Mode::twophase:
      return "twophase";
    case Mode::off:
      break;
  }
  return "off";
}

std::vector<HintPair> hints_in_force(const Hints& hints, Mode mode, const std::string& directory) {
  return {{"pmio_mode", mode_name(mode)},
          {"pmio_dir", directory},
          {"pmio_log_size", std::to_string(hints.log_bytes)},
          {"pmio_index_memory", std::to_string(hints.index_bytes)},
          {"pmio_durability", durability_name(hints.durability)},
          {"pmio_background", hints.background ? "on" : "off"},
          {"pmio_max_age", duration_text(hints.max_age_ns)},
          {"pmio_close", hints.closes_in_background ? "background" : "complete"},
          {"pmio_direct_from", direct_from_text(hints.direct_from)},
          {"pmio_gather", choice_name(hints.gather)},
          {"pmio_goal", goal_name(hints.goal)},
          {"pmio_keep_closed", hints.keep_closed ? "on" : "off"},
          {"pmio_stats", std::to_string(hints.stats)},
          {"pmio_stats_dir", hints.stats_directory},
          {"pmio_across_nodes", choice_name(hints.across_nodes)},
          {"pmio_interface", hints.interface}};
}

Result<uint64_t> parse_bytes(std::string_view text) {
  const Status invalid(Code::invalid, "not a size: '" + std::string(text) + "'");
  uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return invalid;
  std::string unit(rest, text.data() + text.size());
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return std::toupper(c); });
  if (unit.empty() || unit == "B") return number;
  const size_t power = std::string_view("KMGT").find(unit[0]);
  const std::string_view tail = std::string_view(unit).substr(1);
  if (power == std::string_view::npos || (!tail.empty() && tail != "B" && tail != "IB")) return invalid;
  const unsigned shift = 10 * (static_cast<unsigned>(power) + 1);
  if (number > (UINT64_MAX >> shift)) return invalid;
  return number << shift;
}

Result<uint64_t> parse_duration(std::string_view text) {
  struct Unit {
    std::string_view name;
    double ns;
  };
  constexpr std::array<Unit, 4> kUnits{{{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"min", 60e9}}};
  constexpr double kMost = 86400e9;
  if (text == "off") return uint64_t{0};
  double number = 0;
  const auto [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view name(rest, static_cast<size_t>(text.data() + text.size() - rest));
  const auto* unit =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& one) { return one.name == name; });
  if (error != std::errc() || unit == kUnits.end() || !(number >= 0 && number * unit->ns <= kMost))
    return Status(Code::invalid, "not a time: '" + std::string(text) + "'");
  return static_cast<uint64_t>(number * unit->ns);
}

}  // namespace pmio
