// What huge pages give, or would give, to a log in memory, and how a site has them.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "base/memory_limits.h"
#include "cli/doctor/checks.h"

namespace pmio::cli {
namespace {

constexpr size_t kBytes = 64 << 20;
constexpr size_t kRecordBytes = 64 << 10;
constexpr char kShmemEnabled[] = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";

// Of this process's own memory, each page for the first time. 0: it has no huge pages.
double measure_huge_pages() {
  const auto enabled = read_system_file("/sys/kernel/mm/transparent_hugepage/enabled");
  if (!enabled || enabled->find("[never]") != std::string::npos) return 0;
  void* const mapped =
      mmap(nullptr, kBytes + kHugePageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return 0;
  (void)madvise(mapped, kBytes + kHugePageBytes, MADV_HUGEPAGE);
  const auto at = reinterpret_cast<uintptr_t>(mapped);
  auto* const to = static_cast<char*>(mapped) + (kHugePageBytes - at % kHugePageBytes) % kHugePageBytes;
  const std::vector<char> record(kRecordBytes, 'p');
  const auto start = std::chrono::steady_clock::now();
  for (size_t done = 0; done < kBytes; done += kRecordBytes)
    std::memcpy(to + done, record.data(), kRecordBytes);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  munmap(mapped, kBytes + kHugePageBytes);
  return static_cast<double>(kBytes) / seconds.count();
}

void advise(Diagnosis& diagnosis) {
  const auto shmem = read_system_file(kShmemEnabled);
  if (!shmem) return;
  if (shmem->find("[deny]") != std::string::npos) {
    diagnosis.advice.push_back({"huge pages in memory file systems are forbidden on this node",
                                std::string("echo never > ") + kShmemEnabled +
                                    " (as root, at each boot), and mount the log's tmpfs with huge=advise"});
    return;
  }
  const bool is_shared = diagnosis.nearest == "/dev/shm" || diagnosis.nearest.starts_with("/dev/shm/");
  const std::string point = is_shared ? "/dev/shm" : "the tmpfs of " + diagnosis.nearest;
  const std::string what = "the log's tmpfs has no huge pages";
  if (is_shared) {
    diagnosis.advice.push_back(
        {what + ", with which the first write of its memory is cheaper",
         "mount -o remount,huge=advise /dev/shm (as root; in /etc/fstab: tmpfs /dev/shm tmpfs "
         "nosuid,nodev,huge=advise 0 0). Or a tmpfs for pmio alone, in /etc/fstab: tmpfs /run/pmio tmpfs "
         "nosuid,nodev,mode=1777,huge=within_size,size=20% 0 0, and pmio_dir = /run/pmio/%u in "
         "etc/pmio.conf. Or, with Slurm, one for each job: share/pmio/slurm/pmio-tmpfs.sh"});
    return;
  }
  diagnosis.advice.push_back({what, "mount " + point + " with the option huge=advise"});
}

}  // namespace

void check_huge_pages(Diagnosis& diagnosis) {
  if (!diagnosis.medium || diagnosis.medium->file_system != "tmpfs") return;
  const uint64_t room = room_bytes(diagnosis.limits, Keep::all);
  // Twice, as the log's own.
  for (int i = 0; i < 2 && room >= 2 * kBytes; ++i)
    diagnosis.huge_bytes_per_s = std::max(diagnosis.huge_bytes_per_s, measure_huge_pages());
  if (diagnosis.medium->huge == HugePages::none) advise(diagnosis);
}

}  // namespace pmio::cli
