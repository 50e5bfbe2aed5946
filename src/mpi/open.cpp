// MPI_File_open, MPI_File_close, MPI_File_delete.
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/device_memory.h"
#include "mpi/calls.h"
#include "mpi/errors.h"
#include "mpi/info.h"
#include "mpi/names.h"
#include "mpi/next_functions.h"
#include "mpi/process.h"
#include "mpi/start_logging.h"
#include "mpi/undecided.h"

namespace pmio {
namespace {

// Makes the file that the library's open would make, where hints ask for stripes and its file system lets one
// choose them for a file that has nothing in it: the library may not know how. Left to the library: a file
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

// Whether the file is gone when this name is. Not where the name is a link, or one of several.
bool is_only_name(const std::string& path) {
  struct stat facts {};
  return lstat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_nlink == 1;
}

// Whether the library deletes the handle's file, and nobody can read it any more, when this handle is closed.
// By the name that the program gave, which may mean another file by now, or none.
bool dies_with(const Handle& handle) {
  const std::optional<FileIdentity> named = identity_at(handle.name);
  return named && same_file(*named, handle.file->identity()) && is_only_name(handle.name) &&
         !handle.file->has_other_handles() && !handle.file->has_more_users(handle.ranks);
}

// Collective, after all have drained: the file as it is left, where it may rest until it is opened again.
// Nobody returns before its times are set back, which would hide what others write.
std::optional<File::Settled> settle_for_rest(Handle& handle, bool drained) {
  if (!handle.file->spans_nodes()) return {};
  using Numbers = std::array<int64_t, sizeof(File::Settled) / sizeof(int64_t)>;
  auto numbers = std::bit_cast<Numbers>(handle.file->settle(handle.rank == 0 && drained));
  const bool reached = handle.team.largest(numbers);
  const auto all = std::bit_cast<File::Settled>(numbers);
  return reached && drained && all.rests != 0 ? std::optional(all) : std::nullopt;
}

// Everything that the handle's ranks wrote is in the file, or the error of it, the same on all ranks.
int drain_for_close(Handle& handle) {
  // Nobody drains before everybody has written, and nobody gives segments back before everybody has drained.
  handle.team.barrier();
  const bool small = is_small(handle);
  // All ranks note that the calls are over before any gives its segments back.
  handle.file->remove_open(handle.open);
  Status status;
  const bool deleted = (handle.amode & MPI_MODE_DELETE_ON_CLOSE) != 0 && handle.team.all(dies_with(handle));
  if (deleted) {
    status = handle.file->discard();
  } else if (handle.can_write()) {
    status = handle.file->drain();
  }
  // Said before the barrier, which a rank that is the reason for it may never come to.
  if (!status.ok() && handle.file->spans_nodes()) complain_once(handle.file->kept_in_log(status).message());
  handle.team.barrier();
  const Status released = handle.file->release(settle_for_rest(handle, status.ok() && !deleted));
  // Of the two, that which names the place of the log. An error that the last drain has made good is none any
  // more.
  if (!released.ok()) status = released;
  int64_t told[] = {error_class(status), small ? 0 : 1};
  const bool reached = handle.team.largest(told);
  if (!status.ok()) complain_once(status.message());
  note_size(handle, reached && told[1] == 0);
  return reached || told[0] != MPI_SUCCESS ? static_cast<int>(told[0]) : MPI_ERR_IO;
}

// What is logged to the file of this name; null where nothing is.
std::shared_ptr<File> logged_to(const std::string& path) {
  Process& process = Process::instance();
  Job* job = process.can_log() ? process.joined_or_wanted(site_hints(false)) : nullptr;
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
  if (file == nullptr || !file->ever_logged()) return;
  if (const Status status = file->drain_all_nodes(false); !status.ok()) complain_once(status.message());
}

int stop_logging(Handle& handle) {
  const auto begin = monotonic_ns();
  const int code = drain_for_close(handle);
  // Another rank may have made its file.
  if (handle.rank == 0 && handle.shared && (handle.ranks > 1 || handle.shared->used()))
    handle.shared->remove();
  handle.file.reset();
  count(Process::instance().joined()->counters().close_ns, monotonic_ns() - begin);
  return code;
}

// What the library has an error for before it meets the other ranks, which may be waiting for this one there.
bool is_wrong(MPI_Comm comm, const char* filename, int amode) {
  if (comm == MPI_COMM_NULL || filename == nullptr) return true;
  int between_groups = 0;
  mpi().Comm_test_inter(comm, &between_groups);
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
}

void note_opened(Handle& handle) {
  DeviceMemory::look_for_libraries();
  if (handle.logs || !handle.why_not.empty())
    Process::instance().note_file(handle.path.empty() ? handle.name : handle.path, handle.why_not);
  if (!handle.logs) handle.identity = identity_at(handle.path);
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
  obey_site(without_prefix(filename), &handle->hints);
  if ((amode & MPI_MODE_APPEND) != 0) complete_for_append(absolute_path(filename));
  const bool made = handle->rank == 0 && made_with_layout(filename, amode, handle->hints);
  (void)news_for_library(info, &handle->library_hints);
  handle->amode = amode;
  const bool undecided = begin_undecided(*handle, comm, filename);
  bool opened = false;
  const int code = open_in_library(comm, filename, amode, given.get(), fh, &opened);
  handle->name = without_prefix(filename);  // which may depend on what is there
  if (!undecided) start_or_not(*handle, ranks, opened);
  if (!opened) {
    if (made) unmake(filename);
    return code;
  }
  handle->real = *fh;
  undecided ? go_on_undecided(*handle) : note_opened(*handle);
  add_handle(std::move(handle));
  if (Job* job = process.joined()) count(job->counters().open_ns, monotonic_ns() - begin);
  return code;
}

int file_close(MPI_File* fh) {
  if (fh == nullptr || find_handle(*fh) == nullptr) return next_functions.File_close.next()(fh);
  // The handle leaves the table first: another thread may get the same MPI_File from an open as soon as it is
  // closed.
  const std::unique_ptr<Handle> handle = take_handle(*fh);
  int error = MPI_SUCCESS;
  if (handle->undecided) note_undecided(*handle);
  if (handle->file) error = raise_code(*handle, stop_logging(*handle));
  const int code = next_functions.File_close.next()(fh);
  return error != MPI_SUCCESS ? error : after_library_call(*handle, code);
}

int file_delete(const char* filename, MPI_Info info) {
  const std::shared_ptr<File> file = filename == nullptr ? nullptr : logged_under(absolute_path(filename));
  // Those who have it open go on with the file, where they find what is drained now.
  Status status = file ? file->drain_all_nodes(true) : Status();
  const int code = next_functions.File_delete.next()(filename, info);
  // Nor may it be replayed.
  if (!status.ok() && code == MPI_SUCCESS) status = file->discard();
  if (!status.ok()) complain_once(status.message());
  return code;
}

}  // namespace pmio
