// Memory that the processes of a job on this node share from MPI_Init on, whether they have joined the job
// (job/membership.h) or not. It tells where its logs are, and whether there may be news in them.
//
// A process that hands calls on learns from it, without a system call, that no log can have got anything
// since it last looked. The memory has a name in /dev/shm only until all have opened it.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "job/options.h"

namespace pmio {

class Rendezvous {
 public:
  // One process creates it and removes its name; the others open it in between.
  static Result<std::unique_ptr<Rendezvous>> create(uint64_t job);
  static Result<std::unique_ptr<Rendezvous>> open(uint64_t job);
  static void remove_name(uint64_t job);
  // For the only process of its job: the memory has no name.
  static Result<std::unique_ptr<Rendezvous>> create_alone();
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // How often a rank has begun to log to a file; 0: nobody has logged anything. Raised after the rank's first
  // segment of the file can be seen in the file's control block and before the call that needed it returns.
  // So who learns that a write has returned, by whatever means, reads the raised count; who then looks for
  // logs finds that file's. And who found no log of a file need not look again while the count is the same.
  std::atomic<uint64_t>& files_logged();
  // How many logs there are of a rank and a file. One counts from before the rank's first call that logs to
  // the file returns. It counts until the rank has closed the file and all is in it. 0: what is in the files
  // is all that there is.
  std::atomic<uint64_t>& logs_in_use();

  // How many files there are, of each rank, that it has closed and that may not be complete yet. Raised
  // before the close returns on any rank.
  std::atomic<uint64_t>& files_lagging();
  // How many handles were opened that do not log, so far, of each rank. Raised before the open returns.
  std::atomic<uint64_t>& files_handed_on();

  SharedLoss& loss();

  // Whether no process of the job on this node has said this on stderr, nor asked that, so far: then the
  // caller says it. Names of segments, which are each rank's own, do not make two texts of one. A load and an
  // atomic exchange; no lock, so that it may be asked on the way out of any failure. Where very much has been
  // said, true.
  bool first_to_say(std::string_view text);

  // Calls `join` with the log directory of the first process for which it succeeded; with `proposed` where
  // there is none. Others that come meanwhile wait for the first, and not for each other.
  Status with_directory(const std::string& proposed, const std::function<Status(const std::string&)>& join);
  // By `join`: where it is (JobOptions::suits). access: elsewhere than the first process, as containers may
  // show other things by the same names.
  Status agree_on(const JobPlace& place);

 private:
  struct Memory;
  explicit Rendezvous(Memory* memory) : memory_(memory) {}
  static Result<std::unique_ptr<Rendezvous>> map(int fd, const std::string& name);
  Memory* memory_;
};

}  // namespace pmio
