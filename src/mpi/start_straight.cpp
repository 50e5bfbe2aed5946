#include "mpi/start_straight.h"

#include <unistd.h>

#include <utility>

#include "medium/job_name.h"
#include "mpi/names.h"
#include "mpi/process.h"
#include "mpi/start_logging.h"
#include "recover/recover.h"

namespace pmio {
namespace {

constexpr const char* kSharedMemory = "/dev/shm";

Status bring_in(const Handle& handle, const FileIdentity& identity) {
  if (handle.rank != 0) return {};
  const Process& process = Process::instance();
  const std::string logs = process.log_directory(*handle.hints);
  return has_other_jobs(logs, process.id()) ? bring_in_pending(logs, identity, handle.path) : Status();
}

TargetFile::Access access_of(const Handle& handle) {
  if (!handle.can_write()) return TargetFile::Access::read_only;
  return handle.can_read() ? TargetFile::Access::read_write : TargetFile::Access::write_only;
}

}  // namespace

StraightOpen open_straight(const Handle& handle) {
  Result<std::unique_ptr<TargetFile>> target = TargetFile::open(handle.path, access_of(handle));
  if (!target.ok()) {
    if (target.status().code() == Code::unsupported) return {nullptr, "not a regular file"};
    return {nullptr, "cannot be opened once more", target.status()};
  }
  const FileIdentity identity = *(*target)->identity();
  if (handle.decided_late && !(handle.identity && same_file(*handle.identity, identity)))
    return {nullptr, "its name leads to another file by now"};
  Status brought = handle.decided_late ? Status() : bring_in(handle, identity);
  if (!brought.ok()) return {nullptr, "a dead job's log of it is left", std::move(brought)};
  const bool nodes = Process::instance().spans_nodes();
  return {std::make_unique<StraightFile>(std::move(target).value(),
                                         nodes ? StraightFile::Sharing::nodes : StraightFile::Sharing::node)};
}

void begin_straight(Handle& handle, const Opening& ranks, std::unique_ptr<StraightFile> file) {
  const Process& process = Process::instance();
  handle.identity = *file->target().identity();
  handle.straight = std::move(file);
  // The ranks that share memory have done so in that directory; a job of one rank may not have it.
  handle.shared_in_library = !process.shares_memory() || access(kSharedMemory, W_OK) != 0;
  handle.shared =
      std::make_unique<SharedPointer>(std::string(kSharedMemory) + "/pmio-pointer-" + job_name(process.id()) +
                                      "-" + std::to_string(handle.number));
  handle.why_not = std::string("pmio_mode=") + mode_name(handle.hints->mode);
  if (handle.hints->mode == Mode::twophase) handle.buffered = BufferedFile::make(handle, ranks);
  Process::instance().watch_straight(handle);
  handle.set_engine(handle.buffered ? two_phase_engine() : independent_engine());
}

}  // namespace pmio
