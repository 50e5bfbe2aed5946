#include "cluster/message.h"

#include <cerrno>

#include "drain/run.h"

namespace pmio {

Status nonsense() { return {Code::io, "a message of another node makes no sense", EPROTO}; }

bool sensible(const Vector& range, uint64_t window) {
  constexpr auto kWindow = static_cast<int64_t>(kWindowBytes);
  if (window > static_cast<uint64_t>(INT64_MAX) / kWindowBytes - 1) return false;
  const int64_t begin = static_cast<int64_t>(window) * kWindow;
  if (range.offset < begin || range.offset >= begin + kWindow) return false;
  if (range.block_length == 0 || range.block_length > kWindowBytes || range.count == 0) return false;
  if (range.count > 1 && (range.stride < static_cast<int64_t>(range.block_length) || range.stride > kWindow))
    return false;
  return range.count <= kWindowBytes && range.end() <= begin + kWindow;
}

}  // namespace pmio
