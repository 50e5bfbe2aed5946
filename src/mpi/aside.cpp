#include "mpi/aside.h"

#include "mpi/errors.h"
#include "mpi/next_functions.h"
#include "mpi/pointers.h"
#include "mpi/process.h"

namespace pmio {
namespace {

int set_library_pointers(Handle& handle) {
  int64_t shared = 0;
  if (handle.rank == 0) {
    const Result<int64_t> value = shared_fetch_add(handle, 0);
    if (value.ok()) shared = value.value();
  }
  mpi().Bcast(&shared, 1, MPI_INT64_T, 0, handle.comm);
  const int code = next_functions.File_seek.next()(handle.real, handle.position, MPI_SEEK_SET);
  // Only where it moved: the library makes a file of its own for its shared pointer.
  if (code != MPI_SUCCESS || shared == 0) return code;
  return next_functions.File_seek_shared.next()(handle.real, shared, MPI_SEEK_SET);
}

// The file of a handle that never logged, where other handles of the job's ranks have logged to it.
std::shared_ptr<File> logged_by_others(Handle& handle) {
  Process& process = Process::instance();
  // Before the look-up: what begins to be logged during it raises the count again.
  const std::optional<uint64_t> now = process.files_logged();
  if (now && *now == handle.unlogged_at.load(std::memory_order_relaxed)) return nullptr;
  Job* job = handle.identity ? process.joined_or_wanted(handle.hints) : nullptr;
  if (job == nullptr) return nullptr;
  Result<std::shared_ptr<File>> file = job->find(*handle.identity, handle.path);
  if (!file.ok()) {
    complain_once(file.status().message());
    return nullptr;
  }
  if (file.value() && file.value()->ever_logged()) return std::move(file).value();
  if (now) handle.unlogged_at.store(*now, std::memory_order_relaxed);
  return nullptr;
}

}  // namespace

std::shared_ptr<File> logged_file(Handle& handle) {
  std::shared_ptr<File> file = handle.file ? handle.file : logged_by_others(handle);
  return file && file->ever_logged() ? file : nullptr;
}

int step_aside(Handle& handle) {
  mpi().Barrier(handle.comm);
  const Status drained = handle.file->drain();
  const int mine = error_class(drained);
  int worst = MPI_SUCCESS;
  mpi().Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, handle.comm);
  if (worst != MPI_SUCCESS) {
    if (!drained.ok()) complain_once(drained.message());
    return raise_code(handle, worst);
  }
  GivenInfo given(MPI_INFO_NULL);
  for (const auto& [key, value] : handle.library_hints) given.set(key, value);
  int code = next_functions.File_set_view.next()(handle.real, handle.view.displacement, handle.etype.get(),
                                                 handle.filetype.get(), "native", given.get());
  if (code == MPI_SUCCESS) code = set_library_pointers(handle);
  handle.file->forget_cache();
  handle.logs = false;
  return code;
}

Answer settle(Handle& handle, bool will_write, bool collective) {
  if (Job* job = Process::instance().joined()) count(job->counters().handed_on_calls);
  const std::shared_ptr<File> file = logged_file(handle);
  if (!file) return std::nullopt;
  const Status drained = file->drain_all_nodes(will_write);
  if (will_write) file->forget_cache();
  if (!drained.ok()) {
    const int code = raise_error(handle, drained);
    if (!collective) return code;
    handle.unsettled = code;
  }
  return std::nullopt;
}

}  // namespace pmio
