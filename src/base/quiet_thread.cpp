#include "base/quiet_thread.h"

#include <signal.h>

#include <utility>

namespace pmio {
namespace {

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

}  // namespace

std::thread quiet_thread(std::function<void()> body) {
  const SignalsBlocked blocked;  // the new thread inherits it
  return std::thread(std::move(body));
}

}  // namespace pmio
