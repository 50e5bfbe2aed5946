// Whatever a user writes into hints, they are taken or refused; one that is refused changes nothing.
#include <cstdlib>
#include <cstring>

#include "hints/cb_config_list.h"
#include "hints/hints.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

bool same(const pmio::Hints& a, const pmio::Hints& b) {
  return a.mode == b.mode && a.directory == b.directory && a.log_bytes == b.log_bytes &&
         a.index_bytes == b.index_bytes && a.durability == b.durability && a.background == b.background &&
         a.stats == b.stats && a.buffering == b.buffering &&
         a.layout.striping_unit == b.layout.striping_unit &&
         a.layout.striping_factor == b.layout.striping_factor;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(input), size);
  static_cast<void>(pmio::parse_bytes(text));
  std::vector<std::string> complaints;
  pmio::Hints hints;
  for (const auto& [key, value] : pmio::override_hints(text, "/scratch/out.nc", &complaints)) {
    const pmio::Hints before = hints;
    if (!pmio::set_hint(hints, key, value).ok()) require(same(before, hints));
  }
  if (const size_t middle = text.find('='); middle != text.npos)
    static_cast<void>(pmio::set_hint(hints, text.substr(0, middle), text.substr(middle + 1)));
  require(!pmio::hints_in_force(hints, pmio::Mode::log, "/dev/shm/x").empty());
  if (const auto list = pmio::parse_cb_config_list(text); list.ok()) {
    const std::vector<std::string> hosts{"a", "b.c", "a", "*", ""};
    require(pmio::choose_by_config_list(list.value(), hosts, 2).size() <= 2);
    require(pmio::choose_by_config_list(list.value(), hosts, 0).size() <= hosts.size());
  }
  return 0;
}
