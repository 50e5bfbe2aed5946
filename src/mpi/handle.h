// What pmio knows of an open MPI_File, and the table to find it by.
//
// A handle logs (its reads and writes are served by node's File) or is handed on (by the MPI library). It
// starts as all ranks of the open agree, and may be handed on later, by a collective call; it never comes
// back.
//
// Threads: find_handle any thread, without a lock where the thread asks for the same file as before. A Handle
// stays until MPI_File_close, which the program does not call while another thread still uses the file.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mpi/held_type.h"
#include "mpi/info.h"
#include "mpi/next.h"
#include "mpi/shared_pointer.h"
#include "mpi/team.h"
#include "node/file.h"
#include "view/view.h"

namespace pmio {

enum class Direction { read, write };
enum class Pointer { explicit_offset, individual, shared };
// Of a file: one rank, all ranks of the job in their order, or others.
enum class Opener { other, alone, together };

struct Handle {
  MPI_File real = MPI_FILE_NULL;
  int rank = 0, ranks = 1;  // in the communicator of the open
  Team team;                // of those ranks, where it logs or has logged
  int64_t number = 0;       // of the open that made it log: the same on its ranks, no other's in the job
  int amode = 0;
  std::string name;  // that the program gave, without_prefix
  std::string path;  // the same, absolute; empty where it is not known
  Hints hints;
  LibraryHints library_hints;
  std::shared_ptr<File> file;  // null where the handle never logged
  // TargetFile::largest_bytes where it may write, as far as it has been asked for: no file system that has
  // MPI-IO takes less than the first value.
  std::atomic<int64_t> largest_bytes{INT32_MAX};
  std::atomic<bool> logs{false};
  std::string why_not;  // in a few words, where this rank is a reason why it never logged, or all ranks are

  // Of a file that is expected to be small (mpi/undecided.h).
  Opener opener = Opener::other;
  bool undecided = false;  // the library has it until it is decided whether it logs
  bool was_undecided = false;
  bool split_in_library = false;  // a split collective has begun while it was undecided
  uint32_t calls_undecided = 0;   // that count for the decision
  std::string against;            // why_not, where this rank knows it before

  // Where it never logged: the file that was opened, if it could be told, and Process::files_logged of a
  // moment before no log of that file was found. 0 is such a moment for all files.
  std::optional<FileIdentity> identity;
  std::atomic<uint64_t> unlogged_at{0};

  // The view, and the individual pointer in it (etypes). The library's own handle keeps the view it was
  // opened with until the handle is handed on.
  FileView view;
  HeldType etype, filetype;
  std::atomic<int64_t> position{0};
  // Raised without fetch_add, which would wait for all that the call before has stored: no two threads are in
  // collective calls on one handle.
  std::atomic<uint32_t> collective_writes{0};
  uint32_t open = 0;  // CallNumber::open

  std::unique_ptr<SharedPointer> shared;
  uint64_t view_epoch = 0;  // set_views so far
  int64_t shared_start =
      0;  // of the current epoch's shared pointer: not 0 before the first set_view of an append

  std::optional<uint64_t> split;  // bytes that the split collective moved which has not been ended yet

  // Of a drain before a collective call that went to the library all the same, since the other ranks would
  // have waited. The next call that can return it does.
  std::atomic<int> undrained_error{MPI_SUCCESS};
  std::atomic<bool> said_error{false};  // one line per handle is enough

  bool can_write() const { return (amode & MPI_MODE_RDONLY) == 0; }
  bool can_read() const { return (amode & MPI_MODE_WRONLY) == 0; }
};

Handle* find_handle(MPI_File file);
void add_handle(std::unique_ptr<Handle> handle);
std::unique_ptr<Handle> take_handle(MPI_File file);
// Those that log, by number: in an order that all their ranks share.
std::vector<Handle*> logging_handles();
// Whether some handle that does not log has this file open.
bool handed_on(const FileIdentity& identity);
// Forgets all: what the program still calls on them is the library's.
void drop_handles();
// In a process that has been forked, whose other threads are gone, with what they had locked: none is found
// any more.
void forget_handles_in_child();

}  // namespace pmio
