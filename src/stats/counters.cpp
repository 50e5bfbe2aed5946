#include "stats/counters.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace pmio {

namespace {

std::string hexadecimal(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

std::string statistics_json(const RunFacts& facts, const Counters& counters) {
  nlohmann::ordered_json document;
  document["format"] = "pmio-statistics-1";
  document["job"] = hexadecimal(facts.job);
  document["rank"] = facts.rank;
  document["ranks"] = facts.ranks;
  document["program"] = facts.program;
  document["mpi"] = facts.mpi;
  document["log_directory"] = facts.log_directory;
  document["medium"] = facts.medium;
  auto& values = document["counters"];
#define PMIO_STORE(name) values[#name] = counters.name.load(std::memory_order_relaxed);
  PMIO_COUNTERS(PMIO_STORE)
#undef PMIO_STORE
  // The name of a program may be any bytes: what is no UTF-8 is replaced, not thrown at a running job.
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace pmio
