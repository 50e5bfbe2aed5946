#include "node/spares.h"

#include <algorithm>

namespace pmio {

constexpr size_t kMostSpares = 8;
constexpr size_t kMostSpareBytes = 2 << 20;

static bool has_name(const FileControl& control) {
  return control.magic == kControlMagic && control.retired.load(std::memory_order_relaxed) == 0;
}

static bool is_spare(const FileControl& control) {
  return has_name(control) && control.spare.load(std::memory_order_relaxed) != 0;
}

// No File object looks at it any more: the background thread of a process may hold one for a moment.
static bool is_free(const FileControl& control) {
  return is_spare(control) && control.holders.load(std::memory_order_acquire) == 0;
}

void Spares::keep(SharedParts parts, bool reserved) {
  const LockGuard lock(mutex_);
  FileControl& control = parts.control();
  if (reserved) {
    coming_--;
    coming_bytes_ -= parts.region->size_bytes();
  }
  std::erase_if(kept_, [](const SharedParts& each) { return !has_name(each.control()); });
  const bool useful = has_name(control);
  control.holders.fetch_sub(1, std::memory_order_release);
  if (!useful) return;
  kept_.push_back(std::move(parts));
  if (kept_.size() <= 2 * kMostSpares) return;
  // Rather one that others use, whom it stays with.
  const auto gone = std::find_if(kept_.begin(), kept_.end(),
                                 [](const SharedParts& each) { return !is_spare(each.control()); });
  kept_.erase(gone == kept_.end() ? kept_.begin() : gone);
}

bool Spares::reserve(size_t bytes) {
  const LockGuard lock(mutex_);
  size_t spares = coming_ + 1, all_bytes = coming_bytes_ + bytes;
  for (const SharedParts& each : kept_) {
    if (!is_spare(each.control())) continue;
    spares++;
    all_bytes += each.region->size_bytes();
  }
  if (spares > kMostSpares || all_bytes > kMostSpareBytes) return false;
  coming_++;
  coming_bytes_ += bytes;
  return true;
}

template <class Suits>
std::optional<SharedParts> Spares::take(const Suits& suits) {
  const LockGuard lock(mutex_);
  const auto at =
      std::find_if(kept_.begin(), kept_.end(), [&](const auto& each) { return suits(each.control()); });
  if (at == kept_.end()) return {};
  SharedParts parts = std::move(*at);
  kept_.erase(at);
  return parts;
}

std::optional<SharedParts> Spares::of(const FileIdentity& target) {
  return take([&target](const FileControl& control) {
    const bool in_use = has_name(control) && !is_spare(control);
    return (in_use || is_free(control)) && same_file(control.target, target);
  });
}

void Spares::put_back(SharedParts parts) {
  const LockGuard lock(mutex_);
  kept_.push_back(std::move(parts));
}

std::optional<SharedParts> Spares::free_one() { return take(is_free); }

}  // namespace pmio
