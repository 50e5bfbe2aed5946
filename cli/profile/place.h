// Which profile there is, and whether it is of this machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/profile/profile.h"

namespace pmio::cli {

// $XDG_CONFIG_HOME/pmio/profile.json, by default in ~/.config. Empty: there is no home.
std::string user_profile_path();
std::string site_profile_path();  // below it

struct FoundProfile {
  std::string path;
  Profile profile;
};

// A file of up to 1 MiB. Errors as of parse_profile, and of the system; the message names the file.
Result<Profile> load_profile(const std::string& path);
// The user's if there is one, else the site's; nothing: there is neither. A bad one is an error, not skipped.
Result<std::optional<FoundProfile>> find_profile();
// Replaces the file at once; makes its directories. On an error the old one stays.
Status save_profile(const Profile& profile, const std::string& path);

MachineFacts this_machine();
// access, io: the directory cannot be looked at.
Result<Place> place_of(const std::string& directory);

// What differs from this machine, in words; empty: nothing. Memory may differ by an eighth, for kernels keep
// different parts for themselves.
std::vector<std::string> misfits(const MachineFacts& measured, const MachineFacts& now);

std::string joined(const std::vector<std::string>& words);  // by "; "
std::string utc_now();                                      // 2026-11-26T12:00:00Z

}  // namespace pmio::cli
