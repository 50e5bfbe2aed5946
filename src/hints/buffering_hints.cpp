#include "hints/buffering_hints.h"

#include "hints/cb_config_list.h"
#include "hints/values.h"

namespace pmio {
namespace {

Status set_buffering(Buffering& into, std::string_view key, std::string_view value) {
  if (value == "enable")
    into = Buffering::enable;
  else if (value == "disable")
    into = Buffering::disable;
  else if (value == "automatic")
    into = Buffering::automatic;
  else
    return bad_value(key, value, "enable, disable or automatic");
  return {};
}

const char* buffering_name(Buffering buffering) {
  switch (buffering) {
    case Buffering::enable:
      return "enable";
    case Buffering::disable:
      return "disable";
    case Buffering::automatic:
    case Buffering::asked:
      break;
  }
  return "automatic";
}

Status set_alignment(Alignment& into, std::string_view key, std::string_view value) {
  if (value != "0" && value != "1" && value != "2") return bad_value(key, value, "0, 1 or 2");
  into = static_cast<Alignment>(value.front() - '0');
  return {};
}

Status set_memory(BufferMemory& into, std::string_view key, std::string_view value) {
  if (value != "dram" && value != "pmem") return bad_value(key, value, "dram or pmem");
  into = value == "pmem" ? BufferMemory::pmem : BufferMemory::dram;
  return {};
}

Status set_config_list(std::string& into, std::string_view value) {
  const auto list = parse_cb_config_list(value);
  if (!list.ok()) return list.status();
  into = value;
  return {};
}

}  // namespace

std::optional<Status> set_buffering_hint(BufferingHints& hints, std::string_view key,
                                         std::string_view value) {
  if (key == "romio_cb_write") return set_buffering(hints.writes, key, value);
  if (key == "romio_cb_read") return set_buffering(hints.reads, key, value);
  if (key == "cb_buffer_size") return set_bytes(hints.buffer_bytes, key, value);
  if (key == "cb_nodes") return set_count(hints.aggregators, key, value, "a number of ranks");
  if (key == kConfigListKey) return set_config_list(hints.config_list, value);
  if (key == "pmio_cb_align") return set_alignment(hints.alignment, key, value);
  if (key == "pmio_cb_memory") return set_memory(hints.memory, key, value);
  if (key == "pmio_cb_buffering") return set_switch(hints.across_calls, key, value);
  return std::nullopt;
}

std::vector<HintPair> buffering_in_force(const TwoPhaseOptions& options) {
  return {{"romio_cb_write", buffering_name(options.writes)},
          {"romio_cb_read", buffering_name(options.reads)},
          {"cb_buffer_size", std::to_string(options.buffer_bytes)},
          {"cb_nodes", std::to_string(options.aggregators.size())},
          {"pmio_cb_align", std::to_string(static_cast<int>(options.alignment))},
          {"pmio_cb_memory", options.memory == BufferMemory::pmem ? "pmem" : "dram"},
          {"pmio_cb_buffering", options.across_calls ? "on" : "off"}};
}

}  // namespace pmio
