#include "hints/cb_config_list.h"

#include <algorithm>
#include <charconv>

namespace pmio {
namespace {

constexpr std::string_view kAny = "*";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

Status wrong(std::string_view entry, const char* what) {
  return {Code::invalid, "cb_config_list: '" + std::string(entry) + "' " + what};
}

Result<CbConfigEntry> parse_entry(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view host = trimmed(text.substr(0, colon));
  CbConfigEntry entry{std::string(host.empty() && colon != std::string_view::npos ? kAny : host), 1};
  if (entry.host.empty()) return wrong(text, "names no host");
  if (entry.host.find_first_of(" \t*") != std::string::npos && entry.host != kAny)
    return wrong(text, "is no host's name, nor '*'");
  if (colon == std::string_view::npos) return entry;
  const std::string_view count = trimmed(text.substr(colon + 1));
  if (count == kAny) {
    entry.most = CbConfigEntry::kAll;
    return entry;
  }
  const auto [rest, error] = std::from_chars(count.data(), count.data() + count.size(), entry.most);
  if (error != std::errc() || rest != count.data() + count.size())
    return wrong(text, "has no number of ranks behind the ':', nor '*'");
  return entry;
}

bool names(const CbConfigEntry& entry, std::string_view host) {
  return entry.host == host || entry.host == host.substr(0, host.find('.')) ||
         std::string_view(entry.host).substr(0, entry.host.find('.')) == host;
}

// The ranks that one host may give, in their order.
struct Share {
  std::string_view host;
  size_t entry;
  std::vector<uint32_t> ranks;
};

std::vector<Share> shares_of(std::span<const CbConfigEntry> list, std::span<const std::string> hosts) {
  const auto entry_of = [list](std::string_view host) {
    const auto named = std::find_if(list.begin(), list.end(),
                                    [host](const CbConfigEntry& entry) { return names(entry, host); });
    if (named != list.end()) return static_cast<size_t>(named - list.begin());
    const auto any =
        std::find_if(list.begin(), list.end(), [](const CbConfigEntry& entry) { return entry.host == kAny; });
    return static_cast<size_t>(any - list.begin());  // the list's size: none
  };
  std::vector<Share> shares;
  for (uint32_t rank = 0; rank < hosts.size(); rank++) {
    auto share =
        std::find_if(shares.begin(), shares.end(), [&](const Share& one) { return one.host == hosts[rank]; });
    if (share == shares.end()) share = shares.insert(share, {hosts[rank], entry_of(hosts[rank]), {}});
    if (share->entry < list.size() && share->ranks.size() < list[share->entry].most)
      share->ranks.push_back(rank);
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.entry < b.entry; });
  return shares;
}

}  // namespace

Result<std::vector<CbConfigEntry>> parse_cb_config_list(std::string_view text) {
  std::vector<CbConfigEntry> list;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    Result<CbConfigEntry> entry = parse_entry(trimmed(text.substr(begin, end - begin)));
    if (!entry.ok()) return entry.status();
    list.push_back(std::move(entry).value());
    begin = end + 1;
  }
  return list;
}

std::vector<uint32_t> choose_by_config_list(std::span<const CbConfigEntry> list,
                                            std::span<const std::string> hosts, uint32_t count) {
  const std::vector<Share> shares = shares_of(list, hosts);
  std::vector<uint32_t> chosen;
  size_t most = 0;
  for (const Share& share : shares) most = std::max(most, share.ranks.size());
  for (size_t turn = 0; turn < most; turn++) {
    for (const Share& share : shares) {
      if (turn >= share.ranks.size()) continue;
      if (count != 0 && chosen.size() == count) return chosen;
      chosen.push_back(share.ranks[turn]);
    }
  }
  return chosen;
}

}  // namespace pmio
