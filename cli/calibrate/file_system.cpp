// The rates at which a file takes blocks.
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"
#include "cli/calibrate/measure.h"
#include "cli/common/report_format.h"
#include "cli/common/scratch.h"
#include "cli/profile/place.h"

namespace pmio::cli {
namespace {

using FileClock = std::chrono::steady_clock;

constexpr uint64_t kFirstLapBytes = 4 << 20;

struct FileLap {
  const std::string& path;
  uint64_t block_bytes, blocks;  // of the file
  uint32_t writers;
};

struct BlockWriter {
  FileClock::time_point start, end;
  int error = 0;

  // Every writers-th block, from `first` on.
  void run(const FileLap& lap, uint32_t first, std::barrier<>& together) {
    const std::vector<char> block(lap.block_bytes, static_cast<char>('a' + first));
    FileDescriptor file(open(lap.path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!file.ok()) error = errno;
    together.arrive_and_wait();
    start = FileClock::now();
    for (uint64_t i = first; i < lap.blocks && error == 0; i += lap.writers) write_at(file.get(), i, block);
    if (file.ok() && close(file.release()) != 0 && error == 0) error = errno;
    end = FileClock::now();
  }

  void write_at(int file, uint64_t index, const std::vector<char>& block) {
    for (size_t done = 0; done < block.size();) {
      const ssize_t put = pwrite(file, block.data() + done, block.size() - done,
                                 static_cast<off_t>(index * block.size() + done));
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) {
        error = put == 0 ? EIO : errno;
        return;
      }
      done += static_cast<size_t>(put);
    }
  }
};

// Bytes per second.
Result<double> run(const FileLap& lap) {
  if (unlink(lap.path.c_str()) != 0 && errno != ENOENT) return Status::from_errno(errno, lap.path);
  std::vector<BlockWriter> writers(lap.writers);
  std::barrier<> together(lap.writers);
  std::vector<std::thread> running;
  for (uint32_t i = 0; i < lap.writers; i++)
    running.emplace_back([&, i] { writers[i].run(lap, i, together); });
  for (std::thread& each : running) each.join();
  auto start = FileClock::time_point::max(), end = FileClock::time_point::min();
  for (const BlockWriter& each : writers) {
    if (each.error != 0) return Status::from_errno(each.error, lap.path);
    start = std::min(start, each.start);
    end = std::max(end, each.end);
  }
  const double seconds = std::max(std::chrono::duration<double>(end - start).count(), 1e-9);
  return static_cast<double>(lap.block_bytes * lap.blocks) / seconds;
}

Result<Figure> measure_blocks(const std::string& path, uint64_t block_bytes, uint32_t writers,
                              const Effort& effort) {
  const auto blocks = [&](double bytes) {
    const auto fit = static_cast<uint64_t>(bytes) / block_bytes / writers * writers;
    return std::max<uint64_t>(fit, writers);
  };
  const auto first = run({path, block_bytes, blocks(kFirstLapBytes), writers});
  if (!first.ok()) return first.status();
  const double bytes = std::clamp(first.value() * effort.lap_seconds, static_cast<double>(kFirstLapBytes),
                                  static_cast<double>(effort.most_bytes));
  std::vector<double> rates;
  const Status status = repeat(effort, [&]() -> Status {
    const auto rate = run({path, block_bytes, blocks(bytes), writers});
    if (!rate.ok()) return rate.status();
    rates.push_back(rate.value());
    return {};
  });
  if (!status.ok()) return status;
  return figure_of(std::move(rates));
}

Status has_room(const std::string& directory, uint64_t bytes) {
  struct statvfs facts;
  if (statvfs(directory.c_str(), &facts) != 0) return Status::from_errno(errno, directory);
  const uint64_t free_bytes = static_cast<uint64_t>(facts.f_bavail) * facts.f_frsize;
  if (free_bytes >= bytes) return {};
  return {Code::no_space, directory + ": " + human_bytes(free_bytes) + " are free, and measuring needs " +
                              human_bytes(bytes) + "; make room, name another directory by --dir, or try " +
                              "--quick"};
}

}  // namespace

uint32_t writers_of(const MachineFacts& machine) {
  constexpr uint32_t kMostWriters = 4;
  return std::clamp(machine.processors, 1u, kMostWriters);
}

size_t steps_of_file_system() { return model::FileSystem().rates.size(); }

Result<FileSystemProfile> measure_file_system(const std::string& directory, uint32_t writers,
                                              const Effort& effort, Progress& progress) {
  PMIO_TRY(has_room(directory, 2 * effort.most_bytes));  // a removed file may hold its blocks for a while
  auto place = place_of(directory);
  if (!place.ok()) return place.status();
  FileSystemProfile measured{.place = std::move(*place), .date = utc_now(), .writers = writers};
  const ScratchDirectory scratch(directory, ".pmio-calibrate-");
  if (!scratch.made()) return Status::from_errno(errno, directory);
  const model::FileSystem built_in;
  for (const model::BlockRate& each : built_in.rates) {
    progress.begin("blocks of " + human_bytes(static_cast<uint64_t>(each.block_bytes)) + " to a file");
    const bool drain = each.block_bytes >= built_in.drain_block_bytes;
    const auto figure = measure_blocks(scratch.path() + "/file", static_cast<uint64_t>(each.block_bytes),
                                       drain ? 1 : writers, effort);
    if (!figure.ok()) return figure.status();
    measured.rates.push_back({each.block_bytes, figure.value()});
  }
  return measured;
}

}  // namespace pmio::cli
