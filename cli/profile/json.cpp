// Profiles as JSON. Whatever a file holds, the reader ends with a profile or a message.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/profile/profile.h"

namespace pmio::cli {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMostText = 4096, kMostRates = 64, kMostFileSystems = 256;
constexpr double kMostNumber = 1e18;  // bytes per second, and bytes
constexpr double kMostCount = 4e9;

Status wrong(const std::string& where, const std::string& why) {
  return {Code::corrupt, where + " " + why + "; measure again: pmio calibrate"};
}

// One object of the file, and where it is. Each function takes a member; an error names it.
class Reader {
 public:
  Reader(const ordered_json& json, std::string where) : json_(json), where_(std::move(where)) {}

  Status is_object() const { return json_.is_object() ? Status() : wrong(where_, "is no object"); }
  std::string name(const std::string& member) const { return where_ + "." + member; }

  // Printed on terminals: so it holds no control characters.
  Status text(const char* member, std::string* value) const {
    const auto found = json_.find(member);
    if (found == json_.end() || !found->is_string()) return wrong(name(member), "is no text");
    *value = found->get<std::string>();
    const bool plain = std::none_of(value->begin(), value->end(),
                                    [](unsigned char each) { return each < 0x20 || each == 0x7f; });
    if (value->size() > kMostText || !plain) return wrong(name(member), "is no line of text");
    return {};
  }

  Status number(const char* member, double least, double most, double* value) const {
    const auto found = json_.find(member);
    if (found == json_.end() || !found->is_number()) return wrong(name(member), "is no number");
    *value = found->get<double>();
    if (!std::isfinite(*value) || *value < least || *value > most)
      return wrong(name(member), "is out of range");
    return {};
  }

  template <class Integer>
  Status count(const char* member, double least, double most, Integer* value) const {
    double read = 0;
    PMIO_TRY(number(member, least, most, &read));
    if (read != std::floor(read)) return wrong(name(member), "is no whole number");
    *value = static_cast<Integer>(read);
    return {};
  }

  Status figure(Figure* figure) const {
    PMIO_TRY(is_object());
    std::string source;
    PMIO_TRY(text("source", &source));
    PMIO_TRY(number("value", 0, kMostNumber, &figure->value));
    figure->lower = figure->upper = figure->value;
    if (source == "built in") return {};
    if (source != "measured") return wrong(name("source"), "is neither 'measured' nor 'built in'");
    PMIO_TRY(number("lower_quartile", 0, figure->value, &figure->lower));
    PMIO_TRY(number("upper_quartile", figure->value, kMostNumber, &figure->upper));
    return count("samples", 1, kMostCount, &figure->samples);
  }

  Status figures(const std::vector<KnownFigure>& known, Figures* figures) const {
    const auto found = json_.find("figures");
    if (found == json_.end() || !found->is_object()) return wrong(name("figures"), "is no object");
    for (const auto& [each, json] : found->items()) {
      const Reader reader(json, name("figures"));
      const auto is_it = [&key = each](const KnownFigure& one) { return key == one.name; };
      const auto one = std::find_if(known.begin(), known.end(), is_it);
      if (one == known.end()) return wrong(name("figures"), "holds a figure that this pmio does not know");
      Figure figure;
      PMIO_TRY(Reader(json, reader.name(one->name)).figure(&figure));
      // A rate divides.
      if (each.ends_with("bytes_per_second") && figure.value <= 0)
        return wrong(reader.name(one->name), "is not above 0");
      (*figures)[each] = figure;
    }
    return {};
  }

  Status part(const char* member, const ordered_json** json) const {
    const auto found = json_.find(member);
    if (found == json_.end() || !found->is_object()) return wrong(name(member), "is no object");
    *json = &*found;
    return {};
  }

  Status list(const char* member, size_t most, const ordered_json** json) const {
    const auto found = json_.find(member);
    if (found == json_.end() || !found->is_array() || found->size() > most)
      return wrong(name(member), "is no list of up to " + std::to_string(most));
    *json = &*found;
    return {};
  }

 private:
  const ordered_json& json_;
  std::string where_;
};

Status read_rates(const Reader& reader, std::vector<BlockFigure>* rates) {
  const ordered_json* list = nullptr;
  PMIO_TRY(reader.list("rates", kMostRates, &list));
  if (list->empty()) return wrong(reader.name("rates"), "is empty");
  for (const ordered_json& json : *list) {
    const Reader one(json, reader.name("rates[" + std::to_string(rates->size()) + "]"));
    BlockFigure rate;
    PMIO_TRY(one.is_object());
    PMIO_TRY(one.number("block_bytes", 1, kMostNumber, &rate.block_bytes));
    const ordered_json* figure = nullptr;
    PMIO_TRY(one.part("bytes_per_second", &figure));
    PMIO_TRY(Reader(*figure, one.name("bytes_per_second")).figure(&rate.bytes_per_second));
    if (rate.bytes_per_second.value <= 0) return wrong(one.name("bytes_per_second"), "is not above 0");
    if (!rates->empty() && rate.block_bytes <= rates->back().block_bytes)
      return wrong(reader.name("rates"), "does not ascend by block_bytes");
    rates->push_back(rate);
  }
  return {};
}

Status read_file_system(const Reader& reader, FileSystemProfile* file_system) {
  PMIO_TRY(reader.is_object());
  PMIO_TRY(reader.text("file_system", &file_system->place.file_system));
  PMIO_TRY(reader.text("mount_point", &file_system->place.mount_point));
  PMIO_TRY(reader.text("date", &file_system->date));
  PMIO_TRY(reader.count("writers", 1, kMostCount, &file_system->writers));
  PMIO_TRY(read_rates(reader, &file_system->rates));
  return reader.figures(file_system_figures(), &file_system->figures);
}

Status read_machine(const Reader& root, MachineFacts* machine) {
  const ordered_json* json = nullptr;
  PMIO_TRY(root.part("machine", &json));
  const Reader reader(*json, root.name("machine"));
  PMIO_TRY(reader.text("processor", &machine->processor));
  PMIO_TRY(reader.count("processors", 1, kMostCount, &machine->processors));
  return reader.count("memory_bytes", 1, kMostNumber, &machine->memory_bytes);
}

Status read_log(const Reader& root, LogProfile* log) {
  const ordered_json* json = nullptr;
  PMIO_TRY(root.part("log", &json));
  const Reader reader(*json, root.name("log"));
  PMIO_TRY(reader.text("medium", &log->medium));
  PMIO_TRY(reader.text("file_system", &log->file_system));
  PMIO_TRY(reader.text("date", &log->date));
  return reader.figures(log_figures(), &log->figures);
}

Status read_exchange(const Reader& root, ExchangeProfile* exchange) {
  const ordered_json* json = nullptr;
  PMIO_TRY(root.part("exchange", &json));
  const Reader reader(*json, root.name("exchange"));
  PMIO_TRY(reader.text("date", &exchange->date));
  PMIO_TRY(reader.text("mpi", &exchange->mpi));
  PMIO_TRY(reader.count("ranks", 0, kMostCount, &exchange->ranks));
  PMIO_TRY(reader.count("nodes", 0, kMostCount, &exchange->nodes));
  return reader.figures(exchange_figures(), &exchange->figures);
}

Status read_file_systems(const Reader& root, Profile* profile) {
  const ordered_json* list = nullptr;
  PMIO_TRY(root.list("file_systems", kMostFileSystems, &list));
  for (const ordered_json& json : *list) {
    const std::string at = "file_systems[" + std::to_string(profile->file_systems.size()) + "]";
    FileSystemProfile file_system;
    PMIO_TRY(read_file_system(Reader(json, root.name(at)), &file_system));
    if (profile->find(file_system.place) != nullptr) return wrong(root.name(at), "is there twice");
    profile->file_systems.push_back(std::move(file_system));
  }
  return {};
}

Status read_profile(const ordered_json& json, Profile* profile) {
  const Reader root(json, "profile");
  PMIO_TRY(root.is_object());
  std::string format;
  if (!root.text("format", &format).ok() || format != "pmio-profile")
    return wrong("profile.format", "is not 'pmio-profile'");
  uint32_t version = 0;
  PMIO_TRY(root.count("version", 1, kMostCount, &version));
  if (version != kProfileVersion)
    return {Code::unsupported, "it has version " + std::to_string(version) +
                                   ", and this pmio reads version " + std::to_string(kProfileVersion) +
                                   "; take the pmio that wrote it, or measure again: pmio calibrate"};
  PMIO_TRY(read_machine(root, &profile->machine));
  PMIO_TRY(read_log(root, &profile->log));
  PMIO_TRY(read_exchange(root, &profile->exchange));
  return read_file_systems(root, profile);
}

ordered_json json_of(const Figure& figure) {
  if (!figure.measured()) return {{"source", "built in"}, {"value", figure.value}};
  return {{"source", "measured"},
          {"value", figure.value},
          {"lower_quartile", figure.lower},
          {"upper_quartile", figure.upper},
          {"samples", figure.samples}};
}

ordered_json json_of(const Figures& figures) {
  ordered_json json = ordered_json::object();
  for (const auto& [name, figure] : figures) json[name] = json_of(figure);
  return json;
}

ordered_json json_of(const FileSystemProfile& file_system) {
  ordered_json rates = ordered_json::array();
  for (const BlockFigure& each : file_system.rates)
    rates.push_back(
        {{"block_bytes", each.block_bytes}, {"bytes_per_second", json_of(each.bytes_per_second)}});
  return {{"file_system", file_system.place.file_system},
          {"mount_point", file_system.place.mount_point},
          {"date", file_system.date},
          {"writers", file_system.writers},
          {"rates", std::move(rates)},
          {"figures", json_of(file_system.figures)}};
}

}  // namespace

Result<Profile> parse_profile(std::string_view text) {
  const ordered_json json = ordered_json::parse(text, nullptr, false);
  if (json.is_discarded()) return wrong("profile", "is no JSON");
  Profile profile;
  PMIO_TRY(read_profile(json, &profile));
  return profile;
}

std::string profile_text(const Profile& profile) {
  ordered_json json{{"format", "pmio-profile"}, {"version", kProfileVersion}};
  json["machine"] = {{"processor", profile.machine.processor},
                     {"processors", profile.machine.processors},
                     {"memory_bytes", profile.machine.memory_bytes}};
  json["log"] = {{"medium", profile.log.medium},
                 {"file_system", profile.log.file_system},
                 {"date", profile.log.date},
                 {"figures", json_of(profile.log.figures)}};
  json["exchange"] = {{"date", profile.exchange.date},
                      {"mpi", profile.exchange.mpi},
                      {"ranks", profile.exchange.ranks},
                      {"nodes", profile.exchange.nodes},
                      {"figures", json_of(profile.exchange.figures)}};
  json["file_systems"] = ordered_json::array();
  for (const FileSystemProfile& each : profile.file_systems) json["file_systems"].push_back(json_of(each));
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace pmio::cli
