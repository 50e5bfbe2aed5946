// Throws the log of a dead job away, for somebody who does not want what it holds.
//
// The job's directory is first renamed, durably, then emptied. So no recovery and no open brings in a part of
// it, whenever this is interrupted. What was in the files stays in them.
//
// Threads and processes: any number; as recoveries they come one by one (directory.h).
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "recover/scan.h"

namespace pmio {

struct Discarded {
  enum class Result {
    done,        // it is gone, and its note in the registry
    would_lose,  // nothing was touched: it holds what is not in the files, or cannot be read
    not_there,   // there is no log of that job; nor, now, a note of it
  };
  Result result = Result::not_there;
  JobInfo job;            // as it was; its segments are not mapped any more
  bool had_note = false;  // in the registry
};

// even_undrained: also what is in no file. Errors: busy: the job runs; access: the directory is not the
// caller's.
Result<Discarded> discard_job(const std::string& directory, uint64_t job, bool even_undrained);

}  // namespace pmio
