// The options by which a command is told of a job's writes, and by whose figures they are judged.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/status.h"
#include "model/ways.h"

namespace pmio::cli {

class TransferOptions {
 public:
  void add_options(CLI::App& command);
  // After the parsing. invalid: the counts do not fit each other; the message says what to do.
  Result<model::Transfer> transfer() const;
  const std::string& profile() const { return profile_; }
  const std::string& directory() const { return directory_; }

 private:
  model::Transfer transfer_{.call_bytes = 1312, .calls = 1000};
  std::string profile_, directory_ = ".";
  bool irregular_ = false;
};

}  // namespace pmio::cli
