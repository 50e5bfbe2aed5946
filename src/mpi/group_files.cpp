#include "mpi/group_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/file_descriptor.h"
#include "base/file_system.h"
#include "mpi/errors.h"
#include "mpi/names.h"
#include "mpi/process.h"

namespace pmio {

bool seen_by_other_nodes(const std::string& path, uint64_t device, bool say) {
  static std::atomic<uint64_t> last{0};  // device of the last one that may; 0: of none
  if (device != 0 && last.load(std::memory_order_relaxed) == device) return true;
  const FileDescriptor file(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat facts {};
  if (!file.ok() || fstat(file.get(), &facts) != 0) return false;
  if (!Process::instance().on_any_file_system() && !shows_other_nodes(file_system_of(file.get())))
    return false;
  const std::optional<Mount> mount = mount_of(file.get());
  const Status locks = mount ? locks_hold_on_all_nodes(*mount) : Status();
  if (!locks.ok() && say) complain_once(locks.message() + "; the program runs on without the log");
  if (locks.ok()) last.store(facts.st_dev, std::memory_order_relaxed);
  return locks.ok();
}

Status cannot_talk(const Status& cause) {
  return Status(cause.code(),
                "the nodes of the job cannot talk to each other: " + cause.message() +
                    "; name an interface that they can use in PMIO_INTERFACE",
                cause.system_errno());
}

static Status read_claim(const Result<bool>& said, bool* granted) {
  if (!said.ok()) return cannot_talk(said.status());
  *granted = said.value();
  return {};
}

Status claim_to_log(const Handle& handle, Claims& claims, const File& file, bool* granted) {
  return handle.rank != 0 ? Status() : read_claim(claims.to_log(file.identity(), handle.path), granted);
}

static ClaimingGroup claiming(const Cluster& cluster) { return {cluster.place().span, cluster.address()}; }

Status claim_together(const Handle& handle, Claims& claims, const Cluster& cluster, const File& file,
                      bool* granted) {
  if (!cluster.leads_nodes()) return {};
  return read_claim(claims.to_log(file.identity(), handle.path, claiming(cluster)), granted);
}

void claim_undecided(Handle& handle) {
  Claims* const claims = Process::instance().claims();
  if (claims == nullptr || !handle.identity) return;
  if (!seen_by_other_nodes(handle.path, handle.identity->device, false)) return;
  const Cluster* const cluster = handle.group != nullptr ? handle.group->cluster.get() : nullptr;
  if (cluster != nullptr && !cluster->leads_nodes()) return;
  const Result<bool> granted = claims->to_log_perhaps(
      *handle.identity, handle.path, cluster != nullptr ? claiming(*cluster) : ClaimingGroup());
  if (!granted.ok()) handle.against = kUnreachable;
  if (granted.ok() && !granted.value()) handle.against = kOpenElsewhere;
}

void go_without_log(Handle& handle, Opening& ranks, const std::string& path) {
  Claims* const claims = Process::instance().claims();
  if (claims == nullptr) return;
  const std::optional<FileIdentity> identity = handle.rank == 0 ? identity_at(path) : std::nullopt;
  // If the nodes do not reach each other, what MPI promises holds all the same (decision 38).
  if (identity && seen_by_other_nodes(path, identity->device, false))
    (void)claims->to_go_without(*identity, path);
  // Nobody relies on it before.
  if (ranks.ranks() > 1 && ranks.in_one_world()) (void)ranks.on_all_ranks(true);
}

}  // namespace pmio
