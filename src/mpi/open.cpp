// MPI_File_open, MPI_File_close, MPI_File_delete.
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/device_memory.h"
#include "mpi/calls.h"
#include "mpi/errors.h"
#include "mpi/group_files.h"
#include "mpi/info.h"
#include "mpi/names.h"
#include "mpi/next_functions.h"
#include "mpi/process.h"
#include "mpi/site_hints.h"
#include "mpi/start_logging.h"
#include "mpi/undecided.h"

namespace pmio {
namespace {

// Makes the file that the library's open would make, if hints ask for stripes. Its file system must let one
// choose them for a file that has nothing in it. The library may not know how. Left to the library: a file
// that must be new, and one whose name says how to open it.
bool made_with_layout(const char* filename, int amode, const Hints& hints) {
  const bool makes = (amode & MPI_MODE_CREATE) != 0 && (amode & (MPI_MODE_WRONLY | MPI_MODE_RDWR)) != 0;
  if (!makes || (amode & MPI_MODE_EXCL) != 0 || hints.mode == Mode::off) return false;
  return without_prefix(filename) == filename && create_with_layout(filename, hints.layout);
}

void unmake(const char* filename) {
  struct stat facts {};
  if (stat(filename, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size == 0) unlink(filename);
}

// What is logged to the file of this name; null where nothing is.
std::shared_ptr<File> logged_to(const std::string& path) {
  Process& process = Process::instance();
  Job* job = process.can_log() ? process.joined_or_wanted(*site_hints(false)) : nullptr;
  const std::optional<FileIdentity> identity = job == nullptr ? std::nullopt : identity_at(path);
  if (!identity) return nullptr;
  Result<std::shared_ptr<File>> file = job->find(*identity, path);
  if (file.ok()) return std::move(file).value();
  complain_once(file.status().message());
  return nullptr;
}

// The same, of a file that is gone when this name is.
std::shared_ptr<File> logged_under(const std::string& path) {
  return is_only_name(path) ? logged_to(path) : nullptr;
}

// The library looks for the end in the file.
void complete_for_append(const std::string& path) {
  const std::shared_ptr<File> file = logged_to(path);
  if (file == nullptr || !file->usage().ever_logged()) return;
  if (const Status status = file->drain(DrainScope::for_library); !status.ok())
    complain_once(status.message());
}

// What was closed by pmio_close=background. If that fails, the calls on the handle that is being opened tell
// of it.
void complete_before_open(const char* filename) {
  if (!Process::instance().some_file_lags()) return;
  const std::shared_ptr<File> file = logged_to(absolute_path(filename));
  if (file == nullptr || !file->closing().lags()) return;
  if (const Status status = file->closing().complete(); !status.ok())
    complain_once(file->closing().lags_on(status).message());
}

// What the library has an error for before it meets the other ranks, which may be waiting for this one there.
bool is_wrong(MPI_Comm comm, const char* filename, int amode) {
  if (comm == MPI_COMM_NULL || filename == nullptr) return true;
  int between_groups = 0;
  if (comm != MPI_COMM_SELF) mpi().Comm_test_inter(comm, &between_groups);
  const auto ways = static_cast<unsigned>(amode & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR));
  const bool reads = (amode & MPI_MODE_RDONLY) != 0, makes = (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) != 0;
  const bool both = (amode & MPI_MODE_RDWR) != 0, in_turn = (amode & MPI_MODE_SEQUENTIAL) != 0;
  return between_groups != 0 || std::popcount(ways) != 1 || (reads && makes) || (both && in_turn);
}

// The library's open. *opened: whether it gave a handle; not by its code alone, which an error handler of the
// program for MPI_FILE_NULL may have changed.
int open_in_library(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh,
                    bool* opened) {
  // Some libraries leave it as it is where they fail, and it may hold another file's handle then.
  static char nothing;
  const auto untouched = reinterpret_cast<MPI_File>(&nothing);
  MPI_File given = untouched;
  const int code = next_functions.File_open.next()(comm, filename, amode, info, &given);
  // MPICH's library of the standard ABI gives a null of its own, which it takes for a file afterwards.
  if (given == MPI_File{}) given = MPI_FILE_NULL;
  if (given != untouched) *fh = given;
  *opened = code == MPI_SUCCESS && given != untouched && given != MPI_FILE_NULL;
  return code;
}

// With those for which the open failed: they are waited for, and not all may have failed.
void start_or_not(Handle& handle, Opening& ranks, bool opened) {
  handle.path = absolute_path(handle.name);
  if ((handle.amode & MPI_MODE_SEQUENTIAL) == 0)
    start_logging(handle, ranks, opened);
  else
    handle.why_not = "MPI_MODE_SEQUENTIAL";
  if (!handle.file) go_without_log(handle, ranks, handle.path);
}

void note_opened(Handle& handle) {
  DeviceMemory::look_for_libraries();
  if (!handle.in_library() || !handle.why_not.empty())
    Process::instance().note_file(handle.path.empty() ? handle.name : handle.path, handle.why_not);
  if (handle.in_library()) handle.identity = identity_at(handle.path);
}

}  // namespace

int file_open(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh) {
  Process& process = Process::instance();
  if (!process.can_log() || fh == nullptr || is_wrong(comm, filename, amode)) {
    if (!process.can_log()) process.note_unlogged_file(filename);
    return next_functions.File_open.next()(comm, filename, amode, info, fh);
  }
  const auto begin = monotonic_ns();
  GivenInfo given(info);
  auto handle = std::make_unique<Handle>();
  Opening ranks(comm);
  handle->rank = ranks.rank();
  handle->ranks = ranks.ranks();
  handle->hints = hints_for(filename, info, handle->rank == 0, &given);
  obey_site(filename, &handle->hints);
  if (handle->hints->stats > 0 || FileStatistics::on()) {
    process.start_statistics();
    handle->wished = wished_hints(filename, info);
  }
  complete_before_open(filename);
  if ((amode & MPI_MODE_APPEND) != 0) {
    go_without_log(*handle, ranks, absolute_path(filename));
    complete_for_append(absolute_path(filename));
  }
  const bool made = handle->rank == 0 && made_with_layout(filename, amode, *handle->hints);
  (void)news_for_library(info, &handle->library_hints);
  handle->amode = amode;
  const bool undecided = begin_undecided(*handle, ranks, filename);
  bool opened = false;
  const int code = open_in_library(comm, filename, amode, given.get(), fh, &opened);
  handle->name = without_prefix(filename);  // which may depend on what is there
  undecided ? go_on_undecided(*handle, ranks, opened) : start_or_not(*handle, ranks, opened);
  if (!opened) {
    if (made) unmake(filename);
    return code;
  }
  handle->real = *fh;
  if (!handle->in_library()) note_logged(*handle);
  if (!undecided) note_opened(*handle);
  if (!handle->file) process.note_handed_on();
  add_handle(std::move(handle));
  if (Job* job = process.joined()) count(job->counters().open_ns, monotonic_ns() - begin);
  return code;
}

int file_close(MPI_File* fh) {
  if (fh == nullptr || find_handle(*fh) == nullptr) return next_functions.File_close.next()(fh);
  // The handle leaves the table first: another thread may get the same MPI_File from an open as soon as it is
  // closed.
  const std::unique_ptr<Handle> handle = take_handle(*fh);
  note_closing(*handle);
  const int error = raise_code(*handle, handle->engine().close(*handle));
  const int code = next_functions.File_close.next()(fh);
  return error != MPI_SUCCESS ? error : after_library_call(*handle, code);
}

int file_delete(const char* filename, MPI_Info info) {
  const std::shared_ptr<File> file = filename == nullptr ? nullptr : logged_under(absolute_path(filename));
  // Those who have it open go on with the file, where they find what is drained now.
  const bool lags = file && file->closing().lags() && file->closing().is_closed();
  Status status = file && !lags ? file->drain(DrainScope::for_library_write) : Status();
  const int code = next_functions.File_delete.next()(filename, info);
  // Nor may it be replayed.
  if (code == MPI_SUCCESS && (!status.ok() || (lags && file->closing().is_gone())))
    status = file->changes().discard();
  if (!status.ok()) complain_once(status.message());
  return code;
}

}  // namespace pmio
