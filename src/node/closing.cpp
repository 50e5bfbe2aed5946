#include "node/closing.h"

#include <sys/stat.h>

#include <memory>
#include <mutex>

#include "node/file_parts.h"
#include "node/job_impl.h"

namespace pmio {

Status Closing::release(const std::optional<RestingState>& resting) {
  FileTable& table = file_.parts().shared.job->files;
  if (!table.begin_release(file_)) return {};
  const auto nothing_to_drain = [this] {
    if (file_.target().access() != TargetFile::Access::read_only) return false;
    const LockGuard lock(file_.parts().appender.mutex);
    return !file_.parts().appender.owns_undrained();
  };
  const Status status = nothing_to_drain() ? Status() : file_.drain();
  file_.parts().add_up(true);
  std::shared_ptr<File> self;  // goes when the lock is given back
  const LockGuard lock(file_.parts().appender.mutex);
  self = table.end_release(file_, status, resting);
  return status.ok() ? Status() : kept_in_log(status);
}

bool Closing::begin_lag() {
  Job::Impl& job = *file_.parts().shared.job;
  const bool has_failed = file_.parts().shared.control->error.load(std::memory_order_acquire) != 0;
  if (has_failed || job.lost_log.is_known() || job.member->is_past_log()) return false;
  return file_.persist().ok() && job.files.begin_lag(file_);
}

void Closing::release_later() {
  Job::Impl& job = *file_.parts().shared.job;
  if (!job.files.begin_release(file_)) return;
  file_.parts().add_up(true);
  std::shared_ptr<File> self;  // goes when the lock is given back
  const LockGuard lock(file_.parts().appender.mutex);
  self = job.files.end_release_later(file_);
}

bool Closing::lags() const { return pmio::lags(*file_.parts().shared.control); }

Status Closing::complete() {
  PMIO_TRY(file_.drain(DrainScope::everywhere));
  // Since the close others may have written it.
  file_.parts().reach->synced();
  if (!file_.reach().spans_nodes() && !file_.parts().contest.possible()) return {};
  // What is opened now begins anew on all nodes, and some ranks may have let it go already. Or it may be
  // opened by all nodes now, and was of one.
  FileTable& table = file_.parts().shared.job->files;
  const std::shared_ptr<File> self = table.find(file_.parts().shared.key);
  return self.get() == &file_ ? table.complete(self) : Status();
}

bool Closing::is_closed() const {
  const SharedFile& file = file_.parts().shared;
  if (file_.reach().spans_nodes()) return false;  // what other nodes' ranks have open is not known here
  if (!file.job->files.is_closed(file_.parts())) return false;
  // Of handles that never logged nobody knows which file they have open.
  const std::atomic<uint64_t>* handed_on = file.job->member->options().files_handed_on;
  if (handed_on == nullptr || handed_on->load(std::memory_order_acquire) != 0) return false;
  for (uint32_t seat = 0; seat < file.control->seats; seat++) {
    const RankCell& cell = file.control->cells[seat];
    if (&cell != file.cell && cell.attached.load(std::memory_order_acquire) == kAttached) return false;
  }
  return true;
}

bool Closing::is_gone() const {
  struct stat facts {};
  return fstat(file_.parts().shared.target->fd(), &facts) == 0 && facts.st_nlink == 0 && is_closed();
}

Status Closing::lags_on(const Status& status) const {
  const Job::Impl& job = *file_.parts().shared.job;
  if (job.lost_log.is_known()) return kept_in_log(status);
  return {status.code(),
          status.message() +
              ", after its close (pmio_close=background); what is not in the file yet is in the "
              "log '" +
              job.member->directory() + "', and is tried again until the job ends",
          status.system_errno()};
}

Status Closing::kept_in_log(const Status& status) const {
  const Job::Impl& job = *file_.parts().shared.job;
  if (job.lost_log.is_known())
    return Status(status.code(), status.message() + "; what is not in the file is lost with the log",
                  status.system_errno());
  return Status(status.code(),
                status.message() + "; what is not in the file yet stays in the log '" +
                    job.member->directory() +
                    "': make room or repair the file system, then run 'pmio recover'",
                status.system_errno());
}

}  // namespace pmio
