// How lists, tables and JSON are written, in the same way by all subcommands; numbers: base/words.h.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/words.h"

namespace pmio::cli {

std::string human_ranks(const std::vector<uint32_t>& ascending);  // "0-3,7"
std::string hexadecimal_id(uint64_t id);                          // 16 digits
std::string local_time(uint64_t realtime_ns);                     // "2024-05-06 07:08:09"

// Prints it; paths may be any bytes, what is no UTF-8 is replaced.
void print_json(const nlohmann::ordered_json& document);

// A table with right-aligned columns but for the first, printed with two spaces in between.
class Table {
 public:
  explicit Table(std::vector<std::string> titles) { rows_.push_back(std::move(titles)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace pmio::cli
