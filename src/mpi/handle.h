// What pmio knows of an open MPI_File, and the table to find it by.
//
// Its engine (mpi/engine.h) says whether it logs (node's File serves its reads and writes), goes straight to
// the file (drain's StraightFile does) or is handed on to the MPI library. It starts as all ranks of the open
// agree. A later collective call may hand it on, for good.
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

#include "drain/straight_file.h"
#include "mpi/buffered_file.h"
#include "mpi/engine.h"
#include "mpi/file_notes.h"
#include "mpi/gathering.h"
#include "mpi/held_type.h"
#include "mpi/info.h"
#include "mpi/next.h"
#include "mpi/shared_hints.h"
#include "mpi/team.h"
#include "node/file.h"
#include "node/shared_pointer.h"
#include "view/view.h"

namespace pmio {

class Cluster;

// Of a file: one rank, all ranks of the job or of a group on several nodes in their order, or others.
enum class Opener { other, alone, together };

struct Group;

struct Handle {
  MPI_File real = MPI_FILE_NULL;
  int rank = 0, ranks = 1;  // in the communicator of the open
  Team team;                // of those ranks, where it logs or has logged, or goes or went straight
  int64_t number = 0;       // of the open that gave it a team: the same on its ranks, no other's in the job
  int amode = 0;
  std::string name;  // that the program gave, without_prefix
  std::string path;  // the same, absolute; empty where it is not known
  SharedHints hints;
  LibraryHints library_hints;
  FileStatistics::Pairs wished;            // wished_hints, if statistics are kept
  FileCalls calls;                         // of one that does not log, likewise
  bool closes_in_background = false;       // pmio_close: the same on all ranks, and of a file that logs
  std::shared_ptr<File> file;              // null where the handle never logged
  Cluster* cluster = nullptr;              // of a file of several nodes that logs
  std::unique_ptr<StraightFile> straight;  // null where the handle never went straight
  std::unique_ptr<BufferedFile> buffered;  // of pmio_mode=twophase; uses straight, or file
  std::unique_ptr<Gathering> gathering;  // of one that logs, from the first view on that wants it; uses file
  // TargetFile::largest_bytes where it may write, as far as it has been asked for: no file system that has
  // MPI-IO takes less than the first value.
  std::atomic<int64_t> largest_bytes{INT32_MAX};
  std::string why_not;  // in a few words, where this rank is a reason why it never logged, or all ranks are

  // Of a file that is expected to be small (mpi/undecided.h).
  Opener opener = Opener::other;
  Group* group = nullptr;         // of Opener::together, on several nodes
  bool decided_late = false;      // undecided_engine was its first
  bool split_in_library = false;  // a split collective has begun there
  uint32_t calls_undecided = 0;   // that count for the decision
  std::string looked_in;          // the log directory in which dead jobs' logs were looked for at the open
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
  // Of one that goes straight: the library has the shared pointer, and with it the view too. Its calls are
  // handed on. Where the ranks share no memory.
  bool shared_in_library = false;
  // The shared pointer, as far as this rank knows: of a file of several nodes that logs, and of one that is
  // handed on.
  std::atomic<bool> uses_shared{false};
  // Of one that has logged: handed on for as long as atomic mode is on. The same on all ranks.
  bool until_not_atomic = false;
  bool was_aside = false;     // likewise, at some time
  bool viewed_aside = false;  // a view was set meanwhile
  uint64_t view_epoch = 0;    // set_views so far
  int64_t shared_start = 0;   // of the current epoch's shared pointer: not 0 before the first set_view of an
                              // append, and where the library has had it

  // A split collective that has begun, and moves its bytes in its end. transfer: of explicit offset; nothing:
  // this rank has no bytes.
  struct SplitLater {
    Direction direction;
    std::optional<Transfer> transfer;
    HeldType datatype;
  };
  std::optional<SplitLater> split_later;
  std::optional<uint64_t> split;  // bytes that the split collective moved which has not been ended yet

  // Of a drain before a collective call that went to the library all the same, since the other ranks would
  // have waited. The next call that can return it does.
  std::atomic<int> undrained_error{MPI_SUCCESS};
  std::atomic<bool> said_error{false};  // one line per handle is enough

  Engine& engine() const { return *engine_.load(std::memory_order_acquire); }
  // Once the handle has all that the engine needs.
  void set_engine(Engine& engine) { engine_.store(&engine, std::memory_order_release); }
  bool in_library() const { return engine().is_library(); }

  // Of one whose view and pointers pmio keeps.
  TargetFile& target() const { return straight ? straight->target() : file->target(); }

  bool can_write() const { return (amode & MPI_MODE_RDONLY) == 0; }
  bool can_read() const { return (amode & MPI_MODE_WRONLY) == 0; }

 private:
  std::atomic<Engine*> engine_{&library_engine()};
};

Handle* find_handle(MPI_File file);
void add_handle(std::unique_ptr<Handle> handle);
std::unique_ptr<Handle> take_handle(MPI_File file);
// Those whose view and pointers pmio keeps, by number: in an order that all their ranks share.
std::vector<Handle*> own_handles();
// Whether some other handle, which does not log, has this file open.
bool others_handed_on(const Handle& but, const FileIdentity& identity);
// Forgets all: what the program still calls on them is the library's.
void drop_handles();
// In a process that has been forked, whose other threads are gone, with what they had locked: none is found
// any more.
void forget_handles_in_child();

}  // namespace pmio
