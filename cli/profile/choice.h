// Whose figures the model takes: those of a profile, or the built-in ones.
#pragma once

#include <string>
#include <vector>

#include "cli/profile/place.h"

namespace pmio::cli {

struct Choice {
  model::Machine machine;
  std::string profile;             // its path; empty: there is none, all figures are built in
  std::string date;                // of the log's figures
  std::string file_system;         // "ext4 at /data"; empty: the built-in rates
  std::vector<std::string> notes;  // what of the profile does not fit this machine or directory
};

// path: of a profile; empty: the user's or the site's, if there is one. directory: whose file system counts.
// Errors as of load_profile and place_of.
Result<Choice> choose_machine(const std::string& path, const std::string& directory);

// Whose figures they are, in a line, and a line for each note.
void print_figures(const Choice& choice);

// "/home/u/.config/pmio/profile.json of 2026-11-26, which fits", or what does not; or that there is none, and
// what to do.
std::string profile_line();

}  // namespace pmio::cli
