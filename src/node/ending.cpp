#include "node/ending.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/clock.h"
#include "node/background.h"
#include "node/file_parts.h"
#include "node/job_impl.h"

namespace pmio {

constexpr uint64_t kEndPatienceNs = 5'000'000'000;  // without progress
constexpr uint64_t kTogetherNs = 100'000'000;       // for other ranks' ends
constexpr timespec kPoll{0, 1'000'000};
constexpr timespec kShortPoll{0, 100'000};
constexpr int kMostTries = 100;  // for a lock that another thread of the program holds

static std::string advice(const std::string& log_directory) {
  return "run 'pmio recover --dir " + log_directory + "' before anything else uses the file\n";
}

Ending::Ending(Job::Impl& job)
    : job_(job),
      mark_(job.member->directory() + "/" + kKeepMark),
      stuck_(
          "pmio: the file system takes nothing any more, and the program ends: what is not in its files yet "
          "is in "
          "the log " +
          job.member->directory() + "; " + advice(job.member->options().directory)) {}

Ending::~Ending() {
  if (thread_.joinable()) thread_.join();
}

// As this process sees it.
uint64_t Ending::progress() const {
  const Counters& counters = job_.member->counters();
  return counters.drain_windows.load(std::memory_order_relaxed) +
         counters.drain_bytes.load(std::memory_order_relaxed) +
         counters.drain_rounds.load(std::memory_order_relaxed);
}

void Ending::await(bool may_start_thread) {
  State none = State::none;
  if (!may_start_thread && job_.background == nullptr) return;
  if (state_.compare_exchange_strong(none, State::asked) && job_.background == nullptr) {
    try {
      thread_ = QuietThread([this] { serve(); });
    } catch (const std::system_error&) {
      return say_stuck();
    }
  }
  if (may_start_thread && job_.background != nullptr) job_.background->wake();  // not in a signal's handler
  uint64_t seen = progress(), since = monotonic_ns();
  while (state_.load(std::memory_order_acquire) != State::served) {
    nanosleep(&kPoll, nullptr);
    const uint64_t now = monotonic_ns();
    if (const uint64_t has_come = progress(); has_come != seen) {
      seen = has_come;
      since = now;
    }
    if (now - since > kEndPatienceNs) return say_stuck();
  }
}

// The last one to end removes the directory.
void Ending::await_others() const {
  if (job_.member->ranks_of_node().size() < 2 || state_.load(std::memory_order_acquire) != State::served)
    return;
  if (job_.member->log_is_kept()) return;
  const uint64_t since = monotonic_ns();
  while (access(job_.member->directory().c_str(), F_OK) == 0 && monotonic_ns() - since < kTogetherNs)
    nanosleep(&kShortPoll, nullptr);
}

// Of all ranks of the job on this node. The mark keeps the log, too.
bool Ending::first_to_say() const {
  const int fd = ::open(mark_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return errno == ENOENT;  // the log is lost, too
  close(fd);
  return true;
}

// No more than a signal handler may do.
void Ending::say_stuck() const {
  if (first_to_say()) (void)!write(STDERR_FILENO, stuck_.data(), stuck_.size());
}

void Ending::serve() {
  Files files = job_.files.open_files();
  Status drained = drain(files);
  // What another thread has logged meanwhile.
  for (int tries = 0; drained.ok() && !close_log(files) && tries < kMostTries; tries++) {
    nanosleep(&kPoll, nullptr);
    drained = drain(files);
  }
  say_left(files, drained);
  for (const auto& file : files) file->parts().add_up(false);
  const bool all_drained =
      std::all_of(files.begin(), files.end(), [](const auto& file) { return file->reach().is_drained(); });
  files.clear();
  // Where another process has it, this may end the lock that says that this one lives, which has nothing in
  // the log any more.
  if (all_drained) job_.member->remove_if_last();
  state_.store(State::served, std::memory_order_release);
}

// All that can be of what the ranks of the node have logged, those that have died among them, whatever fails;
// the first error.
Status Ending::drain(const Files& files) const {
  Status first;
  for (const auto& file : files) {
    if (file->target().access() == TargetFile::Access::read_only) continue;
    const Status status = file->drain(DrainScope::possible);
    if (first.ok()) first = status;
  }
  return first;
}

// What is written from now on, by another thread or a destructor that comes later, goes to the files. False:
// something has been logged, or is just being logged.
bool Ending::close_log(const Files& files) const {
  job_.member->go_past_log();
  return std::all_of(files.begin(), files.end(), [](const auto& file) {
    Appender& appender = file->parts().appender;
    if (!appender.mutex.try_lock()) return false;
    appender.seal();
    const bool is_drained = file->reach().is_drained();
    appender.mutex.unlock();
    return is_drained;
  });
}

void Ending::say_left(const Files& files, const Status& why) const {
  std::string text;
  for (const auto& file : files) {
    if (file->reach().is_drained()) continue;
    text += "pmio: " + std::to_string(file->parts().shared.undrained_bytes()) + " bytes of " +
            file->parts().shared.path + " are not in the file, " +
            (job_.lost_log.is_known() ? "and lost" : "but in the log " + job_.member->directory()) +
            (why.ok() ? "" : ": " + why.message()) +
            (job_.lost_log.is_known() ? "\n" : "; " + advice(job_.member->options().directory));
  }
  if (!text.empty() && first_to_say()) std::fputs(text.c_str(), stderr);
}

}  // namespace pmio
