#include "node/drain_errors.h"

#include "node/shared_file.h"

namespace pmio {

Status DrainErrors::take() {
  const uint64_t failures = file_.control->error_number.load(std::memory_order_acquire);
  if (file_.reported_errors.load(std::memory_order_relaxed) == failures) return {};
  if (file_.reported_errors.exchange(failures, std::memory_order_relaxed) == failures) return {};
  const int error = file_.control->error.load(std::memory_order_relaxed);
  if (error == 0) return {};  // a later round succeeded
  return Status::from_errno(error, "cannot drain the log to '" + file_.path + "'");
}

void DrainErrors::forgive() {
  file_.reported_errors = file_.control->error_number.load(std::memory_order_acquire);
}

void DrainErrors::add(int error) {
  file_.control->error.store(error, std::memory_order_relaxed);
  file_.control->error_number.fetch_add(1, std::memory_order_release);
}

}  // namespace pmio
