// The PMIO_ variables of this process's environment, looked at before a job starts. A word that is written
// wrong would otherwise have no effect, and nobody would know. Threads: none of this is shared.
#pragma once

#include <string>
#include <vector>

#include "hints/hints.h"

namespace pmio::cli {

struct SettingProblem {
  std::string what;    // names the variable, and says what is allowed
  std::string remedy;  // what to do
};

// Where the site's file names a directory for logs or statistics and the environment does not, the
// environment does from now on: for all that asks default_directory().
void adopt_site_directories();

// What is wrong with the site's file: for people to read, and no reason not to start a program.
std::vector<std::string> problems_of_site();

// What is wrong with them, PMIO_HINTS included; what is right, and what the site's file says, is set in
// hints.
std::vector<SettingProblem> check_settings(Hints& hints);

}  // namespace pmio::cli
