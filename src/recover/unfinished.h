// Recoveries of a file that some nodes of its job have not taken part in yet, found by the journals beside
// the file. It is for questions on a node that has no log of the job, because the log was recovered, was
// never there, or is lost.
#pragma once

#include <string>

#include "recover/recover.h"

namespace pmio {

// Adds them to the report, without those that it has already. give_up: ends those of which the report keeps
// nothing. What the other nodes' logs held is lost. If the file or its directory cannot be looked at, there
// are none.
Status find_unfinished(const std::string& path, bool give_up, RecoverReport* report);

}  // namespace pmio
