#include "cli/advise/record_file.h"

#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace pmio::cli {
namespace {

using advise::FileRecord;
using nlohmann::ordered_json;

constexpr double kMost = 1e18;

Status wrong(const std::string& what) { return {Code::corrupt, "the record " + what}; }

Status number(const ordered_json& object, const char* name, double least, double* value) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return wrong(std::string("has no number ") + name);
  *value = found->get<double>();
  if (!std::isfinite(*value) || *value < least || *value > kMost)
    return wrong(std::string("has ") + name + " out of range");
  return {};
}

// Printed on terminals: without control characters.
Status text(const ordered_json& object, const char* name, std::string* value) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return wrong(std::string("has no text ") + name);
  for (const unsigned char each : found->get<std::string>())
    value->push_back(each < 0x20 || each == 0x7f ? '?' : static_cast<char>(each));
  return {};
}

Status file(const ordered_json& object, FileRecord* file) {
  if (!object.is_object()) return wrong("has a file that is no object");
  PMIO_TRY(text(object, "path", &file->path));
  PMIO_TRY(number(object, "writers", 0, &file->writers));
  PMIO_TRY(number(object, "opens", 0, &file->opens));
  PMIO_TRY(number(object, "calls", 0, &file->calls));
  PMIO_TRY(number(object, "bytes", 0, &file->bytes));
  PMIO_TRY(number(object, "write_s", 0, &file->write_seconds));
  file->reason = "without pmio";
  return {};
}

Status record(const ordered_json& object, ProgramRecord* record) {
  if (!object.is_object() || object.value("format", ordered_json()) != "pmio-record-1")
    return wrong("is none: its format is not pmio-record-1");
  advise::JobRecord& job = record->job;
  PMIO_TRY(text(object, "program", &record->program));
  PMIO_TRY(number(object, "ranks", 1, &job.ranks));
  PMIO_TRY(number(object, "nodes", 1, &job.nodes));
  PMIO_TRY(number(object, "wall_s", 0, &job.wall_seconds));
  PMIO_TRY(number(object, "io_s", 0, &job.straight_seconds));
  const auto files = object.find("files");
  if (files == object.end() || !files->is_array()) return wrong("has no list of files");
  for (const ordered_json& each : *files) PMIO_TRY(file(each, &job.files.emplace_back()));
  return {};
}

}  // namespace

Result<ProgramRecord> parse_record(std::string_view text) {
  const ordered_json document = ordered_json::parse(text, nullptr, false);
  ProgramRecord read;
  PMIO_TRY(record(document, &read));
  return read;
}

Result<ProgramRecord> load_record(const std::string& path) {
  std::ifstream file;
  if (path != "-") file.open(path);
  std::istream& from = path == "-" ? std::cin : file;
  const std::string text{std::istreambuf_iterator<char>(from), {}};
  if (!from) return Status::from_errno(errno != 0 ? errno : EIO, "cannot read " + path);
  return parse_record(text);
}

}  // namespace pmio::cli
