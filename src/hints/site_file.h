// The site's settings: etc/pmio.conf of the prefix, or the file that PMIO_CONFIG names. docs/hints.md is the
// user's page of it.
//
// A line is `key = value`; a # begins a comment. Keys are pmio's hints, which the environment overrides, and
// those of SiteFile below. A line that is wrong is left out and named; it keeps no program from running.
// Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pmio {

struct SiteFile {
  std::string path;                                        // empty: there is none
  std::vector<std::pair<std::string, std::string>> hints;  // key and value; what set_hint takes
  // Shell patterns. Programs by their file or its last component; file systems as file_system_of names them.
  std::vector<std::string> programs_off;      // their files are not logged
  std::vector<std::string> file_systems_on;   // not empty: files of others are not logged
  std::vector<std::string> file_systems_off;  // files there are not logged
  std::vector<std::string> complaints;        // "FILE:LINE: what is wrong", for the user

  // Whether a file may be logged there, as far as the site says.
  bool allows_file_system(const std::string& name) const;
  bool leaves_alone(const std::string& program) const;
};

// Of this process; read once. The file that belongs to the library or command that this code is part of.
const SiteFile& site_file();

// The text of a file of that path.
SiteFile parse_site_file(std::string_view text, const std::string& path);

}  // namespace pmio
