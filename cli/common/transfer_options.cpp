#include "cli/common/transfer_options.h"

#include <cmath>

namespace pmio::cli {

void TransferOptions::add_options(CLI::App& command) {
  const auto add_count = [&command](const char* name, double* value, const char* text) {
    command
        .add_option_function<uint64_t>(
            name, [value](const uint64_t& count) { *value = static_cast<double>(count); }, text)
        ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40));
  };
  add_count("--ranks", &transfer_.ranks, "Of the job (1)");
  add_count("--nodes", &transfer_.nodes, "With as many ranks on each (1)");
  add_count("--call-bytes", &transfer_.call_bytes, "Of a rank in a call (1312)");
  add_count("--pieces", &transfer_.pieces_per_call, "Of a rank in a call, each contiguous in the file (1)");
  add_count("--calls", &transfer_.calls, "Of a rank (1000)");
  command.add_option("--compute", transfer_.compute_seconds, "Seconds between two calls (0)")
      ->check(CLI::Range(0.0, 1e9));
  command.add_flag("--irregular", irregular_, "The pieces of a call are no regular pattern");
  command.add_option("--profile", profile_, "A profile of pmio calibrate (the user's or the site's)");
  command.add_option("--dir", directory_, "A directory on the file system of the file (the current)");
}

Result<model::Transfer> TransferOptions::transfer() const {
  if (std::fmod(transfer_.ranks, transfer_.nodes) != 0)
    return Status(Code::invalid, "--ranks is to be a multiple of --nodes: each node has as many");
  if (transfer_.pieces_per_call > transfer_.call_bytes)
    return Status(Code::invalid, "--pieces is more than --call-bytes: a piece has a byte or more");
  model::Transfer transfer = transfer_;
  transfer.regular = !irregular_;
  return transfer;
}

}  // namespace pmio::cli
