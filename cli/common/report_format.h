// How numbers are written for people, and JSON for scripts, in the same way by all subcommands.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace pmio::cli {

std::string human_bytes(uint64_t bytes);                          // "17 B", "1.3 KiB", "20.0 GiB"
std::string human_time(uint64_t nanoseconds);                     // "0.8 us", "12.5 ms", "3.2 s"
std::string human_count(uint64_t number);                         // "1,234,567"
std::string human_decimal(double value);                          // "0.125", "12.5"
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
