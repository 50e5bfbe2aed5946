// The text of PMIO_HINTS and MPICH_MPIIO_HINTS.
#include <fnmatch.h>

#include <algorithm>
#include <functional>

#include "hints/hints.h"

namespace pmio {
namespace {

// What comes before the next separator that is not between double quotes; both are taken off.
std::string_view take_unquoted(std::string_view& text, char separator) {
  bool quoted = false;
  size_t at = 0;
  for (; at < text.size() && (quoted || text[at] != separator); at++) quoted ^= text[at] == '"';
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return head;
}

std::string without_quotes(std::string_view value) {
  std::string text(value);
  std::erase(text, '"');
  return text;
}

bool matches(const std::string& pattern, const std::string& filename) {
  const size_t slash = filename.rfind('/');
  const std::string last = slash == std::string::npos ? filename : filename.substr(slash + 1);
  return fnmatch(pattern.c_str(), filename.c_str(), 0) == 0 || fnmatch(pattern.c_str(), last.c_str(), 0) == 0;
}

std::vector<HintPair> overrides(std::string_view text, const std::function<bool(const std::string&)>& counts,
                                std::vector<std::string>* complaints, std::string_view variable) {
  std::vector<HintPair> pairs;
  while (!text.empty()) {
    std::string_view group = take_unquoted(text, ',');
    if (group.empty()) continue;
    const std::string pattern(take_unquoted(group, ':'));
    if (pattern.empty() || group.empty()) {
      complaints->push_back(std::string(variable) + ": " +
                            (pattern.empty() ? "a pattern is missing before ':" + std::string(group)
                                             : "there are no hints for '" + pattern) +
                            "'; it is pattern:key=value:..., with commas between patterns");
      continue;
    }
    std::string_view last;  // key
    while (!group.empty()) {
      const std::string_view setting = take_unquoted(group, ':');
      const size_t equals = setting.find('=');
      if (equals == std::string_view::npos && last == kConfigListKey) {
        if (counts(pattern)) pairs.back().second.append(":").append(without_quotes(setting));
      } else if (equals == std::string_view::npos || equals == 0) {
        complaints->push_back(std::string(variable) + ": '" + std::string(setting) + "' for '" + pattern +
                              "' is not key=value");
      } else if (last = setting.substr(0, equals); counts(pattern)) {
        pairs.emplace_back(last, without_quotes(setting.substr(equals + 1)));
      }
    }
  }
  return pairs;
}

}  // namespace

std::vector<HintPair> override_hints(std::string_view text, const std::string& filename,
                                     std::vector<std::string>* complaints, std::string_view variable) {
  return overrides(
      text, [&filename](const std::string& pattern) { return matches(pattern, filename); }, complaints,
      variable);
}

std::vector<HintPair> every_override(std::string_view text, std::vector<std::string>* complaints) {
  return overrides(
      text, [](const std::string& /*pattern*/) { return true; }, complaints, "PMIO_HINTS");
}

}  // namespace pmio
