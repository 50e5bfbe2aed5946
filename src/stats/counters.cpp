#include "stats/write.h"

#include <cstdio>

#include "stats/file_statistics.h"

namespace pmio {
namespace {

std::string hexadecimal(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

// The name of a program or a file may be any bytes: what is no UTF-8 is replaced, not thrown at a running
// job.
std::string text_of(const nlohmann::ordered_json& document) {
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

nlohmann::ordered_json facts_json(const RunFacts& facts) {
  return {{"format", "pmio-statistics-1"},
          {"job", hexadecimal(facts.job)},
          {"rank", facts.rank},
          {"ranks", facts.ranks},
          {"program", facts.program},
          {"mpi", facts.mpi},
          {"host", facts.host},
          {"start_realtime_ns", facts.start_realtime_ns},
          {"wall_ns", facts.wall_ns},
          {"log_directory", facts.log_directory},
          {"medium", facts.medium}};
}

nlohmann::ordered_json pairs_json(const FileStatistics::Pairs& pairs) {
  auto object = nlohmann::ordered_json::object();
  for (const auto& [key, value] : pairs) object[key] = value;  // the later ones count
  return object;
}

void add_entry(nlohmann::ordered_json& file, const FileStatistics::Entry& entry) {
  file["engine"] = entry.facts.engine;
  file["why"] = entry.facts.why;
  file["hints_wished"] = pairs_json(entry.facts.wished);
  file["hints"] = pairs_json(entry.facts.in_force);
  file["server_bytes"] = entry.server_bytes;
  auto& numbers = file["numbers"];
#define PMIO_STORE(name) numbers[#name] = entry.numbers.name;
  PMIO_FILE_NUMBERS(PMIO_STORE)
#undef PMIO_STORE
}

// Rows: microseconds since MPI_Init, and the numbers in the order of their names.
nlohmann::ordered_json history_json(const History::Points& history) {
  nlohmann::ordered_json document;
  auto& names = document["names"] = nlohmann::ordered_json::array();
#define PMIO_NAME(name) names.push_back(#name);
  PMIO_HISTORY(PMIO_NAME)
#undef PMIO_NAME
  auto& points = document["points"] = nlohmann::ordered_json::array();
  for (const History::Point& point : history) {
    points.push_back({point.at_ns / 1000});
#define PMIO_STORE(name) points.back().push_back(point.numbers.name);
    PMIO_HISTORY(PMIO_STORE)
#undef PMIO_STORE
  }
  return document;
}

}  // namespace

void count_system_calls(Counters& all, const FileNumbers& of_file) {
  count(all.target_writes_1k, of_file.target_writes_1k);
  count(all.target_writes_1m, of_file.target_writes_1m);
  count(all.target_writes_large, of_file.target_writes_large);
  count(all.target_write_bytes, of_file.target_write_bytes);
  count(all.target_write_ns, of_file.target_write_ns);
  count(all.target_reads_1k, of_file.target_reads_1k);
  count(all.target_reads_1m, of_file.target_reads_1m);
  count(all.target_reads_large, of_file.target_reads_large);
  count(all.target_read_bytes, of_file.target_read_bytes);
  count(all.target_read_ns, of_file.target_read_ns);
}

std::string announcement_json(const RunFacts& facts) { return text_of(facts_json(facts)); }

std::string statistics_json(const RunFacts& facts, const Counters& counters, const FileList& files,
                            const History::Points& history) {
  nlohmann::ordered_json document = facts_json(facts);
  auto& list = document["files"] = nlohmann::ordered_json::array();
  const auto entries = FileStatistics::of_process().entries();
  for (const auto& [path, reason] : files.reasons()) {
    list.push_back({{"path", path}, {"logged", reason.empty()}, {"reason", reason}});
    if (const auto entry = entries.find(path); entry != entries.end()) add_entry(list.back(), entry->second);
  }
  document["more_opens"] = files.more();
  auto& values = document["counters"];
#define PMIO_STORE(name) values[#name] = counters.name.load(std::memory_order_relaxed);
  PMIO_COUNTERS(PMIO_STORE)
#undef PMIO_STORE
  if (!history.empty()) document["history"] = history_json(history);
  return text_of(document);
}

}  // namespace pmio
