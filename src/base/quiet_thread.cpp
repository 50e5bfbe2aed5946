#include "base/quiet_thread.h"

#include <signal.h>

#include <cerrno>

#include <memory>
#include <system_error>
#include <utility>

#include "base/status.h"

namespace pmio {
namespace {

// pmio needs a tenth of it. The rest is for what a program's libraries keep per thread: glibc takes that from
// the stack.
constexpr size_t kStackBytes = 1 << 20;

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

void* run(void* body) {
  const std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()>*>(body));
  (*owned)();
  return nullptr;
}

// Returns an errno, or 0.
int start(pthread_t* thread, std::function<void()>* body) {
  pthread_attr_t attributes;
  if (const int error = pthread_attr_init(&attributes)) return error;
  (void)pthread_attr_setstacksize(&attributes, kStackBytes);
  int error = pthread_create(thread, &attributes, run, body);
  // What the libraries keep per thread is larger than that.
  if (error == EINVAL) error = pthread_create(thread, nullptr, run, body);
  pthread_attr_destroy(&attributes);
  return error;
}

}  // namespace

QuietThread::QuietThread(std::function<void()> body) {
  auto owned = std::make_unique<std::function<void()>>(std::move(body));
  const SignalsBlocked blocked;  // the new thread inherits it
  if (const int error = start(&thread_, owned.get()))
    throw std::system_error(error, std::generic_category(), "cannot start a thread");
  static_cast<void>(owned.release());
  runs_ = true;
}

QuietThread::QuietThread(QuietThread&& other) noexcept
    : runs_(std::exchange(other.runs_, false)), thread_(other.thread_) {}

QuietThread& QuietThread::operator=(QuietThread&& other) noexcept {
  PMIO_ASSERT(!runs_);
  runs_ = std::exchange(other.runs_, false);
  thread_ = other.thread_;
  return *this;
}

QuietThread::~QuietThread() { PMIO_ASSERT(!runs_); }

void QuietThread::join() {
  PMIO_ASSERT(runs_ && pthread_join(thread_, nullptr) == 0);
  runs_ = false;
}

}  // namespace pmio
