#include "cli/profile/choice.h"

#include <cstdio>

namespace pmio::cli {
namespace {

Result<std::optional<FoundProfile>> named_or_found(const std::string& path) {
  if (path.empty()) return find_profile();
  auto profile = load_profile(path);
  if (!profile.ok()) return profile.status();
  return std::optional(FoundProfile{path, std::move(*profile)});
}

std::string text_of(const Place& place) { return place.file_system + " at " + place.mount_point; }

}  // namespace

Result<Choice> choose_machine(const std::string& path, const std::string& directory) {
  auto found = named_or_found(path);
  if (!found.ok()) return found.status();
  Choice choice;
  if (!*found) return choice;
  const Profile& profile = (*found)->profile;
  choice.profile = (*found)->path;
  choice.date = profile.log.date;
  choice.notes = misfits(profile.machine, this_machine());
  const auto place = place_of(directory);
  if (!place.ok()) return place.status();
  const FileSystemProfile* const file_system = profile.find(place.value());
  if (file_system != nullptr)
    choice.file_system = text_of(place.value());
  else
    choice.notes.push_back("it has no figures of " + text_of(place.value()) +
                           "; measure it: pmio calibrate --dir " + directory);
  choice.machine = machine_of(profile, file_system);
  return choice;
}

void print_figures(const Choice& choice) {
  if (choice.profile.empty())
    std::printf("Built-in figures: there is no profile (pmio calibrate).\n");
  else
    std::printf("Profile %s of %.10s, %s\n", choice.profile.c_str(), choice.date.c_str(),
                choice.file_system.empty() ? "built-in rates of the file" : choice.file_system.c_str());
  for (const std::string& note : choice.notes) std::printf("  but %s\n", note.c_str());
}

std::string profile_line() {
  const auto found = find_profile();
  if (!found.ok()) return found.status().message();
  if (!found.value()) return "none: the model's figures are built in; measure them: pmio calibrate";
  const FoundProfile& profile = *found.value();
  const std::vector<std::string> differences = misfits(profile.profile.machine, this_machine());
  const std::string what = profile.path + " of " + profile.profile.log.date.substr(0, 10);
  if (differences.empty()) return what + ", which fits this machine";
  return what + ", of another machine (" + joined(differences) + "); measure again: pmio calibrate";
}

}  // namespace pmio::cli
