// The figures of a profile, and what they are in the model.
#include "cli/profile/profile.h"

#include <algorithm>
#include <cmath>

namespace pmio::cli {
namespace {

void apply(const Figures& figures, const std::vector<KnownFigure>& known, model::Machine& machine) {
  for (const KnownFigure& each : known) {
    const auto found = figures.find(each.name);
    if (found != figures.end() && found->second.measured()) *each.at(machine) = found->second.value;
  }
}

void add_built_in(Figures& figures, const std::vector<KnownFigure>& known) {
  model::Machine built_in;
  for (const KnownFigure& each : known) {
    const double value = *each.at(built_in);
    figures.insert({each.name, {value, value, value, 0}});
  }
}

double quantile(const std::vector<double>& sorted, double part) {
  const double at = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(std::floor(at));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - std::floor(at)) * (sorted[above] - sorted[below]);
}

}  // namespace

Figure figure_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {quantile(samples, 0.5), quantile(samples, 0.25), quantile(samples, 0.75),
          static_cast<uint32_t>(samples.size())};
}

#define PMIO_FIGURE(part, name)                                        \
  KnownFigure {                                                        \
#name, [](model::Machine & machine) { return &machine.part.name; } \
  }

const std::vector<KnownFigure>& log_figures() {
  static const std::vector<KnownFigure> figures{
      PMIO_FIGURE(log, warm_bytes_per_second), PMIO_FIGURE(log, cold_bytes_per_second),
      PMIO_FIGURE(log, append_record_seconds), PMIO_FIGURE(log, merge_record_seconds),
      PMIO_FIGURE(log, drain_record_seconds),  PMIO_FIGURE(log, drain_piece_seconds),
      PMIO_FIGURE(log, call_seconds),          PMIO_FIGURE(log, file_seconds)};
  return figures;
}

const std::vector<KnownFigure>& file_system_figures() {
  static const std::vector<KnownFigure> figures{PMIO_FIGURE(file, sieved_bytes_per_second),
                                                PMIO_FIGURE(file, sieved_piece_seconds)};
  return figures;
}

const std::vector<KnownFigure>& exchange_figures() {
  static const std::vector<KnownFigure> figures{
      PMIO_FIGURE(exchange, call_seconds),        PMIO_FIGURE(exchange, copy_bytes_per_second),
      PMIO_FIGURE(exchange, copy_piece_seconds),  PMIO_FIGURE(exchange, within_message_seconds),
      PMIO_FIGURE(exchange, within_byte_seconds), PMIO_FIGURE(exchange, message_seconds),
      PMIO_FIGURE(exchange, message_byte_seconds)};
  return figures;
}

#undef PMIO_FIGURE

const FileSystemProfile* Profile::find(const Place& place) const {
  const auto found = std::find_if(file_systems.begin(), file_systems.end(),
                                  [&place](const FileSystemProfile& each) { return each.place == place; });
  return found == file_systems.end() ? nullptr : &*found;
}

model::Machine machine_of(const Profile& profile, const FileSystemProfile* file_system) {
  model::Machine machine;
  apply(profile.log.figures, log_figures(), machine);
  apply(profile.exchange.figures, exchange_figures(), machine);
  if (file_system == nullptr) return machine;
  apply(file_system->figures, file_system_figures(), machine);
  machine.file.rates.clear();
  for (const BlockFigure& each : file_system->rates)
    machine.file.rates.push_back({each.block_bytes, each.bytes_per_second.value});
  return machine;
}

void complete(Profile& profile) {
  add_built_in(profile.log.figures, log_figures());
  add_built_in(profile.exchange.figures, exchange_figures());
  for (FileSystemProfile& each : profile.file_systems) add_built_in(each.figures, file_system_figures());
}

}  // namespace pmio::cli
