// Recovery of one file's log; recover.h says what happens in which order, and why.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "recover/file_copy.h"
#include "recover/recover.h"

namespace pmio {

struct FileRecovery {
  std::vector<std::string> paths;  // where to look for the file, in this order
  bool dry_run = false;
  bool consistent = false;
  std::function<void(const RecoverProgress&)> progress;
  MediumOpener open_log = open_medium;
  uint64_t job = 0;                            // without the number of the node
  std::function<void()> note_at_work = [] {};  // every now and then while a file of several nodes is written
  FileCopy* copy = nullptr;                    // if given, it is written, and nothing else is changed
};

// The job must be dead, and locked unless dry_run.
FileOutcome recover_file(const LogDirectory& job, const FileInfo& file, const FileRecovery& options);

// What there is to say of a file before anything is done; result is kept.
FileOutcome describe_file(const LogDirectory& job, const FileInfo& file);

// Removes the job's directory if no log is left in it. True if it is gone.
Result<bool> remove_finished_job(const LogDirectory& parent, const std::string& name,
                                 const LogDirectory& job);

// What src/node makes in a job's directory; anything else is somebody's, and stays.
bool belongs_to_a_job(const std::string& entry);

// The index of a job whose log is not in memory (src/node/job.cpp). Nothing depends on it, so errors do not
// matter.
void remove_scratch(const std::string& job_name);

}  // namespace pmio
