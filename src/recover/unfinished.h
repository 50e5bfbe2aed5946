// Recoveries of a file that some nodes of its job have not come to, found by the journals beside it. For
// those who ask on a node that has no log of the job: it has been recovered, or was never there, or is lost.
#pragma once

#include <string>

#include "recover/recover.h"

namespace pmio {

// Adds them to the report, but for those that it tells of already. give_up: those that nothing of the report
// is kept of are ended: what the other nodes' logs held is lost. Where the file or its directory cannot be
// looked at, there are none.
Status find_unfinished(const std::string& path, bool give_up, RecoverReport* report);

}  // namespace pmio
