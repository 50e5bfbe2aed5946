// Programs of a few calls on one file by two ranks, executed by the real node layer on a Machine, one call
// after the other, with the model kept beside them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model.h"
#include "node/file.h"

namespace pmio::fault {

enum class Call {
  write,   // one record
  pieces,  // a call of several records
  fill,    // most of a segment
  drain,
  sync,
  truncate,
  reopen,   // close, which gives the rank's segments back, and open
  discard,  // what a deletion does
};

struct Operation {
  Call call;
  uint32_t rank = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
};
using History = std::vector<Operation>;
std::string describe(const History& history);

// What the machine's log medium is, and how it fails.
struct Setting {
  MediumKind kind = MediumKind::dax;
  Durability durability = Durability::always;
  Failure failure = Failure::power_loss;
  // Whether an acknowledged write survives before a sync.
  bool acknowledged_is_durable() const {
    return failure == Failure::process_death || kind == MediumKind::dax || durability == Durability::always;
  }
};
std::string describe(const Setting& setting);

class Run {
 public:
  static constexpr uint32_t kRanks = 2;
  static constexpr uint64_t kFillBytes = 240 << 10;

  // The log in `directory`, the file at `target` (which exists). open_log: the machine's, or a broken one.
  Run(const Setting& setting, std::string directory, std::string target, MediumOpener open_log, uint64_t job);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Status execute(const Operation& operation);
  Model& model() { return model_; }
  const std::string& job_directory() const { return job_directory_; }

 private:
  Status append(const Operation& operation);
  Status truncate_file(uint64_t size);
  Status sync(uint32_t rank);
  Status discard(uint32_t rank);
  Status reopen(uint32_t rank);
  Status open(uint32_t rank);

  const Setting setting_;
  const std::string target_;
  std::string job_directory_;
  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<std::shared_ptr<File>> files_;
  Model model_;
  std::vector<Piece> not_durable_;  // acknowledged
  uint64_t number_ = 0;             // of the call: seeds its bytes
};

}  // namespace pmio::fault
