#include "mpi/preallocate.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "mpi/aside.h"
#include "mpi/errors.h"
#include "mpi/next_functions.h"
#include "mpi/team.h"

namespace pmio {
namespace {

// The ranks that have a handle open: its team, or a communicator for this call, if the handle has none.
// Collective.
class Together {
 public:
  explicit Together(const Handle& handle) : team_(handle.file || handle.straight ? &handle.team : nullptr) {
    if (team_ == nullptr) make(handle);
  }
  ~Together() {
    if (made_) mpi().Comm_free(&comm_);
  }
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;
  // False, on all of them: they have several worlds.
  bool ok() const { return team_ != nullptr || made_; }
  // As Team::largest.
  bool largest(std::span<int64_t> values) const {
    if (team_ != nullptr) return team_->largest(values);
    const std::vector<int64_t> mine(values.begin(), values.end());
    return mpi().Allreduce(mine.data(), values.data(), static_cast<int>(values.size()), MPI_INT64_T, MPI_MAX,
                           comm_) == MPI_SUCCESS;
  }

 private:
  void make(const Handle& handle) {
    MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    if (next_functions.File_get_group.next()(handle.real, &group) != MPI_SUCCESS) return;
    const std::vector<int> ranks = ranks_in_world(group);
    mpi().Group_free(&group);
    if (ranks.empty()) return;
    mpi().Comm_group(MPI_COMM_WORLD, &world);
    mpi().Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group);
    made_ = mpi().Comm_create_group(MPI_COMM_WORLD, group, 0, &comm_) == MPI_SUCCESS;
    mpi().Group_free(&group);
    mpi().Group_free(&world);
  }

  const Team* team_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  bool made_ = false;
};

// The file as one rank finds it.
struct Found {
  std::shared_ptr<File> file;          // that is logged
  std::unique_ptr<TargetFile> target;  // else
  uint64_t end = 0;                    // of what is in the file, as far as this rank knows
  Status status;                       // unsupported: the file is not found

  Status make_room(uint64_t bytes, uint64_t known_end) const {
    if (file != nullptr) return file->changes().make_room(bytes, known_end);
    const auto made = target->allocate(bytes);
    if (!made.ok()) return made.status();
    if (made.value()) return {};
    PMIO_TRY(target->grow(bytes, known_end));
    return target->sync();  // other nodes see it
  }
};

Found find(Handle& handle) {
  Found found;
  found.file = handle.file ? handle.file : logged_file(handle);
  if (found.file != nullptr && found.file->target().access() == TargetFile::Access::read_only)
    found.file = nullptr;
  if (found.file == nullptr) {
    if (!handle.identity || handle.path.empty()) {
      found.status = {Code::unsupported, "the file has no name that pmio knows"};
      return found;
    }
    auto opened = TargetFile::open_same(handle.path, *handle.identity, TargetFile::Access::write_only);
    if (!opened.ok()) {
      found.status = {Code::unsupported, opened.status().message()};
      return found;
    }
    found.target = std::move(opened).value();
  }
  const Result<uint64_t> end = found.file ? found.file->size_bytes() : found.target->size_bytes();
  if (end.ok())
    found.end = end.value();
  else
    found.status = end.status();
  return found;
}

// The worst error of all ranks, and the end of the file as the furthest of them sees it.
struct Agreed {
  bool unknown;  // somebody does not find the file
  int error;     // a class
  uint64_t end;
};

Agreed agree(const Found& mine, const Together& ranks) {
  const bool unknown = mine.status.code() == Code::unsupported;
  int64_t values[] = {unknown ? 1 : 0, error_class(mine.status), static_cast<int64_t>(mine.end)};
  const bool reached = ranks.largest(values);
  return {values[0] != 0, reached ? static_cast<int>(values[1]) : MPI_ERR_IO,
          static_cast<uint64_t>(values[2])};
}

// Collective.
Status make_room_by_first(const Handle& handle, const Found& found, uint64_t bytes, uint64_t end,
                          const Together& ranks) {
  Status status;
  if (handle.rank == 0) status = found.make_room(bytes, end);
  int64_t error[] = {status.ok() ? 0 : std::max(status.system_errno(), 1)};
  if (!ranks.largest(error)) error[0] = EIO;
  if (!status.ok() || error[0] == 0) return status;
  return Status::from_errno(static_cast<int>(error[0]), "cannot make room in '" + handle.path + "'");
}

}  // namespace

bool is_wrong_preallocation(const Handle& handle, MPI_Offset size) {
  return size < 0 || !handle.can_write() || (handle.amode & MPI_MODE_SEQUENTIAL) != 0;
}

Room make_room(Handle& handle, uint64_t bytes) {
  const Together ranks(handle);
  if (!ranks.ok()) return {};
  const Found found = find(handle);
  const Agreed all = agree(found, ranks);
  if (all.unknown) return {};
  if (all.error != MPI_SUCCESS)
    return {found.status.ok() ? raise_code(handle, all.error) : raise_error(handle, found.status)};
  const Status made = make_room_by_first(handle, found, bytes, all.end, ranks);
  return {raise_error(handle, made), true, all.end};
}

}  // namespace pmio
