#include "node/spares.h"

#include <algorithm>
#include <cstring>

#include "node/file_impl.h"

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
  const std::lock_guard lock(mutex_);
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
  const std::lock_guard lock(mutex_);
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
  const std::lock_guard lock(mutex_);
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
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(parts));
}

std::optional<SharedParts> Spares::free_one() { return take(is_free); }

// As it was when it was made, but for its name. Nobody uses it. False: it cannot be used.
bool Job::Impl::renew(SharedParts& parts, const FileIdentity& target) {
  // The magic first: whoever finds it in between makes it anew.
  std::atomic_ref<uint64_t>(parts.control().magic).store(0, std::memory_order_release);
  std::memset(parts.region->data(), 0, parts.region->size_bytes());
  parts.mark.clear();
  LedgerState state = parts.ledger.read();
  if (state.round == 0) return true;
  state.target = target;
  state.flags = 0;
  state.entries.clear();
  return parts.ledger.update(state).ok();
}

// Each step leaves what a process that died while it made these, or left a file, may have left: the ledger
// tells of no segment, as none of the file that it was of can be replayed any more.
std::optional<SharedParts> Job::Impl::recycle(const File::Impl& file) {
  std::optional<SharedParts> parts = spares.free_one();
  if (!parts) return {};
  const std::string old = file_key(parts->control().target);
  const auto rename = [&](const char* kind) { return medium->rename(kind + old, kind + file.key).ok(); };
  // The magic first: whoever finds it in between makes it anew.
  const std::atomic_ref<uint64_t> magic(parts->control().magic);
  magic.store(0, std::memory_order_release);
  if (!rename("ledger-")) {  // somebody has the file open, or has died with it
    magic.store(kControlMagic, std::memory_order_release);
    spares.put_back(std::move(*parts));
    return {};
  }
  if (renew(*parts, file.identity) && rename("mark-") && rename("file-")) return parts;
  for (const char* kind : {"file-", "mark-"}) (void)medium->remove(kind + old);
  return {};
}

bool Job::Impl::leave_spare(File::Impl& file) {
  if (medium->kind() != MediumKind::tmpfs || spans_nodes() || file.control->layout_words == 0 ||
      !spares.reserve(file.control_region->size_bytes()))
    return false;
  file.leaves_spare = true;
  file.control->spare.store(1, std::memory_order_relaxed);
  return true;
}

}  // namespace pmio
