// The PMIO_ variables of this process's environment, looked at before a job starts: a word that is written
// wrong would otherwise have no effect, and nobody would know. Threads: none of this is shared.
#pragma once

#include <string>
#include <vector>

#include "mpi/hints.h"

namespace pmio::cli {

struct SettingProblem {
  std::string what;    // names the variable, and says what is allowed
  std::string remedy;  // what to do
};

// What is wrong with them, PMIO_HINTS included; what is right is set in hints.
std::vector<SettingProblem> check_settings(Hints& hints);

}  // namespace pmio::cli
