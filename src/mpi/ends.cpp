#include "mpi/ends.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "base/forked.h"
#include "mpi/handle.h"
#include "mpi/next.h"
#include "mpi/process.h"

namespace pmio {
namespace {

// The signals by which users, terminals, batch systems and asserts end programs. Those of faults are left
// alone: debuggers need them, and the process's memory may be in any state.
constexpr int kSignals[] = {SIGTERM, SIGINT, SIGHUP, SIGXCPU, SIGABRT};

std::atomic<pid_t> owner{0};  // the process that has joined the job

Job* job_to_end() {
  // A child of vfork shares this memory.
  return owner.load(std::memory_order_relaxed) == getpid() ? Process::instance().joined() : nullptr;
}

bool is_default(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

void on_signal(int number);

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == &on_signal;
}

void set_default(int number) {
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  sigaction(number, &by_default, nullptr);
}

// Does what the signal does by default, a moment later. A handler of the program's may call this one, which
// it found when it was set. Then it does nothing: by default there would have been nothing to call.
void on_signal(int number) {
  const int error = errno;
  struct sigaction now {};
  if (sigaction(number, nullptr, &now) != 0 || !is_ours(now)) {
    errno = error;
    return;
  }
  set_default(number);  // a second signal ends the process at once
  program_breaks_off();
  raise(number);
}

void watch_signals() {
  for (const int number : kSignals) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0 || !is_default(action)) continue;
    action = {};
    action.sa_handler = &on_signal;
    action.sa_flags = SA_NODEFER | SA_ONSTACK | SA_RESTART;
    sigaction(number, &action, nullptr);
  }
}

// A forked process uses nothing of its parent's job, files and threads. Its calls on the parent's files are
// the library's.
void forget_job_in_child() {
  forget_handles_in_child();
  Process::instance().forget_in_child();
}

// The process may allocate and take locks here; in a signal handler it may not.
void program_ends_in_order() {
  if (job_to_end() == nullptr) return;
  program_ends();
  try {
    Process::instance().keep_statistics();
  } catch (const std::bad_alloc&) {
    // `pmio stats` will call the job killed.
  }
}

// Runs after the program's own handlers of exit, which may still write and close files.
__attribute__((destructor)) void at_exit() {
  program_ends_in_order();
  if (const Job* job = job_to_end()) job->await_others_end();
}

constinit Next<decltype(MPI_Abort)> next_abort("PMPI_Abort");

}  // namespace

void watch_ends(bool background) {
  owner.store(getpid(), std::memory_order_relaxed);
  watch_forks(&forget_job_in_child);
  if (background) watch_signals();
  static const bool registered = std::at_quick_exit(&program_ends) == 0;
  static_cast<void>(registered);
}

void unwatch_signals() {
  for (const int number : kSignals) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) == 0 && is_ours(action)) set_default(number);
  }
}

void program_ends() {
  if (Job* job = job_to_end()) job->end();
}

void program_breaks_off() {
  if (Job* job = job_to_end()) job->end_in_handler();
}

void program_goes_on() {
  if (Job* job = job_to_end()) job->go_on();
}

}  // namespace pmio

extern "C" {

PMIO_EXPORT void pmio_program_ends() { pmio::program_ends(); }
PMIO_EXPORT void pmio_program_breaks_off() { pmio::program_breaks_off(); }
PMIO_EXPORT void pmio_program_goes_on() { pmio::program_goes_on(); }

PMIO_EXPORT int MPI_Abort(MPI_Comm comm, int code) {
  pmio::program_ends_in_order();
  return pmio::next_abort.next()(comm, code);
}

PMIO_EXPORT int PMPI_Abort(MPI_Comm comm, int code) {
  pmio::program_ends_in_order();
  return pmio::next_abort.profiled()(comm, code);
}

}  // extern "C"
