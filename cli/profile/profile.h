// What I/O costs on one machine, as `pmio calibrate` has measured it: a file of JSON.
//
// A figure is the median of a few repetitions between their quartiles. What could not be measured is marked
// as built in: the loader then takes what src/model/machine.h has. A profile holds several file systems. It
// is a user's file: the reader validates all of it. Version 1; another version is refused. Units are in the
// names of the figures, which are those of src/model/machine.h. Threads: values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/machine.h"

namespace pmio::cli {

constexpr int kProfileVersion = 1;

struct Figure {
  double value = 0;             // the median
  double lower = 0, upper = 0;  // quartiles
  uint32_t samples = 0;         // repetitions; 0: built in
  bool measured() const { return samples != 0; }
};

// The median and the quartiles, interpolated; at least one sample.
Figure figure_of(std::vector<double> samples);

// By name; those that there can be are told by log_figures() and so on.
using Figures = std::map<std::string, Figure>;

struct MachineFacts {
  std::string processor;  // its model
  uint32_t processors = 0;
  uint64_t memory_bytes = 0;
};

struct Place {
  std::string file_system;  // type: "ext4", "lustre"
  std::string mount_point;
  bool operator==(const Place&) const = default;
};

struct LogProfile {
  std::string medium;  // "tmpfs", "disk", "dax"
  std::string file_system, date;
  Figures figures;
};

struct BlockFigure {
  double block_bytes = 0;
  Figure bytes_per_second;
};

struct FileSystemProfile {
  Place place;
  std::string date;  // UTC, as 2026-11-26T12:00:00Z
  uint32_t writers = 0;
  std::vector<BlockFigure> rates;  // ascending
  Figures figures;
};

struct ExchangeProfile {
  std::string date, mpi;
  uint32_t ranks = 0, nodes = 0;  // 0: not measured
  Figures figures;
};

struct Profile {
  MachineFacts machine;
  LogProfile log;
  ExchangeProfile exchange;
  std::vector<FileSystemProfile> file_systems;
  // Nothing if there is none of that type and mount point.
  const FileSystemProfile* find(const Place& place) const;
};

// A figure that a profile may have, and where it goes in a Machine.
struct KnownFigure {
  const char* name;
  double* (*at)(model::Machine& machine);
};
const std::vector<KnownFigure>& log_figures();
const std::vector<KnownFigure>& file_system_figures();
const std::vector<KnownFigure>& exchange_figures();

// corrupt: it is no profile; the message says where and why. unsupported: another version.
Result<Profile> parse_profile(std::string_view text);
std::string profile_text(const Profile& profile);

// The built-in figures, with those in their place that were measured. file_system: null for the built-in
// ones.
model::Machine machine_of(const Profile& profile, const FileSystemProfile* file_system);

// Adds the built-in value of each figure that is not there, so that the file shows all.
void complete(Profile& profile);

}  // namespace pmio::cli
