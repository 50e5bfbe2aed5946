#include "cluster/claim_registry.h"

namespace pmio {

ClaimRegistry::Decision ClaimRegistry::claim(const SharedIdentity& file, const Claimant& by) {
  const auto at = files_.find(file);
  if (at != files_.end()) {
    const State& state = at->second;
    if (state.contested) return {Answer::contested, {}};
    if (by.logs != 0 && state.owner.owner == by.owner) return {Answer::granted, {}};
    return {Answer::contested, state.owner};
  }
  // For good: of one that is forgotten here, ranks may have it open without the log.
  full_ = full_ || files_.size() >= most_;
  if (full_) return {Answer::contested, {}};
  files_[file] = {by.logs == 0, by};
  return {by.logs != 0 ? Answer::granted : Answer::contested, {}};
}

ClaimRegistry::Answer ClaimRegistry::after_surrender(const SharedIdentity& file, const Claimant& by,
                                                     bool was_open) {
  State& state = files_[file];
  state.contested = was_open || by.logs == 0;
  state.owner = by;
  return state.contested ? Answer::contested : Answer::granted;
}

void ClaimRegistry::release(const SharedIdentity& file, const Owner& owner) {
  const auto at = files_.find(file);
  if (at != files_.end() && !at->second.contested && at->second.owner.owner == owner) files_.erase(at);
}

}  // namespace pmio
