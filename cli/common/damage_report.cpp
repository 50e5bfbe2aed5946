#include "cli/common/damage_report.h"

#include "cli/common/report_format.h"

namespace pmio::cli {
namespace {

constexpr size_t kMostPrinted = 4;

}  // namespace

std::string range_text(const Vector& range) {
  std::string text = "bytes " + std::to_string(range.offset) + " to " + std::to_string(range.end() - 1);
  if (range.count > 1)
    text += " (" + human_count(range.count) + " blocks of " + human_bytes(range.block_length) + ")";
  return text;
}

std::string ranges_text(const std::vector<Vector>& ranges) {
  std::string text;
  for (size_t i = 0; i < ranges.size() && i < kMostPrinted; i++)
    text += (i > 0 ? ", " : "") + range_text(ranges[i]);
  if (!ranges.empty()) text += " of the file";
  if (ranges.size() > kMostPrinted)
    text += " and " + human_count(ranges.size() - kMostPrinted) + " more ranges";
  return text;
}

nlohmann::ordered_json range_json(const std::optional<Vector>& range) {
  if (!range) return nullptr;
  return {{"offset", range->offset},
          {"block_bytes", range->block_length},
          {"stride", range->stride},
          {"blocks", range->count}};
}

nlohmann::ordered_json ranges_json(const std::vector<Vector>& ranges) {
  auto document = nlohmann::ordered_json::array();
  for (const Vector& range : ranges) document.push_back(range_json(range));
  return document;
}

std::string damage_text(const Damage& damage) {
  const uint32_t last = damage.acknowledged - 1;
  std::string text = damage.first == last
                         ? "record " + std::to_string(damage.first) + " is"
                         : "records " + std::to_string(damage.first) + " to " + std::to_string(last) + " are";
  text += " lost though acknowledged: " + ranges_text(damage.lost);
  if (damage.unknown == 0) return text;
  text += (damage.lost.empty() ? "" : "; ") + human_count(damage.unknown) +
          (damage.unknown == 1 ? " does" : " do") + " not tell which bytes of the file";
  if (damage.within) text += ", but not outside of " + range_text(*damage.within);
  return text;
}

nlohmann::ordered_json damage_json(const Damage& damage) {
  return {{"first_record", damage.first},
          {"acknowledged_records", damage.acknowledged},
          {"lost_ranges", ranges_json(damage.lost)},
          {"records_of_unknown_range", damage.unknown},
          {"unknown_within", range_json(damage.within)}};
}

}  // namespace pmio::cli
