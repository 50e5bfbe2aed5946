// What `pmio doctor` looks at. Each check adds findings; nothing is changed on the machine, but for a scratch
// directory that the bandwidth measurement makes and removes. Threads: none of this is shared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/doctor/layout.h"
#include "cli/run/runtimes.h"
#include "hints/hints.h"
#include "medium/medium.h"

namespace pmio::cli {

// Something that the user should know, and what to do about it.
struct Finding {
  std::string what, remedy;
};

struct Leftover {
  std::string job;
  uint64_t undrained_bytes = 0;
};

struct Diagnosis {
  std::string directory, reason;  // which log directory, and why that one
  std::string nearest;            // itself, or its closest parent that exists
  bool exists = false;
  bool usable = false;  // its own checks found nothing wrong
  Hints hints;          // of the environment
  std::optional<MediumFacts> medium;
  uint64_t total_bytes = 0;         // of the file system
  uint32_t ranks = 1;               // that the capacity is for
  std::vector<MemoryLimit> limits;  // that bound what logs take
  uint64_t capacity_bytes = 0;      // of one rank's log
  // Into the log, one thread; 0: not measured.
  double cold_bytes_per_s = 0;     // each page for the first time, and the making of the region
  double copy_bytes_per_s = 0;     // likewise, when all pages have been touched
  double huge_bytes_per_s = 0;     // cold, into huge pages of this process's own
  double durable_bytes_per_s = 0;  // including the sync that MPI_File_sync pays
  std::vector<Runtime> runtimes;
  std::vector<Leftover> dead_jobs;
  size_t running_jobs = 0;
  std::string profile;               // of pmio calibrate: which, and whether it fits
  std::optional<FileLayout> file;    // that was asked about
  std::string program, program_mpi;  // that was asked about; empty: none shows
  std::vector<Finding> findings;
  std::vector<Finding> advice;  // nothing is wrong, but it could be faster
};

void check_environment(Diagnosis& diagnosis);
void check_directory(Diagnosis& diagnosis);
void check_medium(Diagnosis& diagnosis);
void check_runtimes(Diagnosis& diagnosis);
void check_leftovers(Diagnosis& diagnosis);
void check_registry(Diagnosis& diagnosis);
void check_file(Diagnosis& diagnosis, const std::string& path);
void measure_bandwidth(Diagnosis& diagnosis);
void check_huge_pages(Diagnosis& diagnosis);
void check_profile(Diagnosis& diagnosis);

}  // namespace pmio::cli
