#include "cli/recover/cut_report.h"

#include <cstdio>

#include "cli/common/damage_report.h"
#include "cli/common/report_format.h"

namespace pmio::cli {
namespace {

const char* reason_name(MissingRank::Reason reason) {
  switch (reason) {
    case MissingRank::Reason::no_files:
      return "no segment files";
    case MissingRank::Reason::segment_gone:
      return "segments gone";
    case MissingRank::Reason::unknown:
      return "unknown";
  }
  return "unknown";
}

const char* reason_text(MissingRank::Reason reason) {
  switch (reason) {
    case MissingRank::Reason::no_files:
      return "not one file of its log is there, so what it logged is lost";
    case MissingRank::Reason::segment_gone:
      return "its log of this file is gone";
    case MissingRank::Reason::unknown:
      return "it has no log of this file: it had made no call, or all was in the file and the space was used "
             "again, or its log is lost";
  }
  return "";
}

std::string open_name(const Cut& cut, const OpenCut& open) {
  if (cut.opens.size() == 1) return "";
  return open.open == kUnknownOpen ? " (of an unknown open)" : " (open " + std::to_string(open.open) + ")";
}

void print_missing(const Cut& cut) {
  for (const OpenCut& open : cut.opens) {
    for (const MissingRank& rank : open.missing) {
      std::printf(
          "  %s rank %u%s%s: %s; collective write calls from 1 on are not known to be complete, other "
          "ranks went up to %u; which bytes it wrote nothing tells\n",
          rank.reason == MissingRank::Reason::unknown ? "NOT KNOWN:" : "MISSING:", rank.rank,
          rank.of_world ? "" : " of the open's communicator", open_name(cut, open).c_str(),
          reason_text(rank.reason), open.latest);
    }
  }
}

void print_later(const Cut& cut) {
  if (!cut.in_file.empty())
    std::printf("  LATER BYTES were in the file already and cannot be undone: %s\n",
                ranges_text(cut.in_file).c_str());
  if (!cut.perhaps_in_file.empty())
    std::printf("  LATER BYTES may be in the file, since a drain was under way: %s\n",
                ranges_text(cut.perhaps_in_file).c_str());
  if (!cut.untold.empty())
    std::printf(
        "  LATER BYTES of rank %s may be in the file, and nothing tells which: that part of the log was used "
        "again, or is lost\n",
        human_ranks({cut.untold.begin(), cut.untold.end()}).c_str());
}

}  // namespace

std::string complete_text(const Cut& cut) {
  if (cut.opens.empty()) return "";
  std::string text = "collective write calls are complete up to number ";
  for (const OpenCut& open : cut.opens) {
    if (&open != &cut.opens.front()) text += ", ";
    text += std::to_string(open.complete) + open_name(cut, open);
  }
  return text;
}

void print_cut(const FileOutcome& file, const std::string& log, bool consistent) {
  if (file.result == FileResult::discarded) return;
  print_missing(file.cut);
  for (const LostSegment& segment : file.gone) {
    std::printf(
        "  MISSING: %s/%s of rank %u: %s of its records are in the file; what else it held nothing "
        "tells\n",
        log.c_str(), segment.name.c_str(), segment.rank, human_count(segment.records).c_str());
  }
  if (!consistent || file.result == FileResult::kept) return;
  if (file.result == FileResult::cut)
    std::printf(
        "  left out: %s of later calls (%s); they stay in %s, and pmio recover without --consistent, or "
        "opening the file under pmio, brings them in\n",
        (human_count(file.cut.left_records) + (file.cut.left_records == 1 ? " record" : " records")).c_str(),
        human_bytes(file.cut.left_bytes).c_str(), log.c_str());
  print_later(file.cut);
}

void add_cut(const FileOutcome& file, nlohmann::ordered_json* entry) {
  const Cut& cut = file.cut;
  auto opens = nlohmann::ordered_json::array();
  for (const OpenCut& open : cut.opens) {
    auto missing = nlohmann::ordered_json::array();
    for (const MissingRank& rank : open.missing) {
      missing.push_back({{"rank", rank.rank},
                         {"of_world", rank.of_world},
                         {"from_collective_call", 1},
                         {"reason", reason_name(rank.reason)}});
    }
    nlohmann::ordered_json number = nullptr;
    if (open.open != kUnknownOpen) number = open.open;
    opens.push_back({{"open", number},
                     {"ranks", open.ranks},
                     {"last_complete_collective_call", open.complete},
                     {"latest_collective_call", open.latest},
                     {"missing_ranks", std::move(missing)}});
  }
  auto gone = nlohmann::ordered_json::array();
  for (const LostSegment& segment : file.gone)
    gone.push_back({{"name", segment.name}, {"rank", segment.rank}, {"records_in_file", segment.records}});
  (*entry)["opens"] = std::move(opens);
  (*entry)["missing_segments"] = std::move(gone);
  (*entry)["later"] = {{"records_left_in_log", file.result == FileResult::cut ? cut.left_records : 0},
                       {"bytes_left_in_log", file.result == FileResult::cut ? cut.left_bytes : 0},
                       {"ranges_in_file", ranges_json(cut.in_file)},
                       {"ranges_perhaps_in_file", ranges_json(cut.perhaps_in_file)},
                       {"ranks_with_untold_ranges", cut.untold}};
}

}  // namespace pmio::cli
