#include "cluster/message.h"

#include <cerrno>

#include "drain/run.h"

namespace pmio {

Status nonsense() { return {Code::io, "a message of another node makes no sense", EPROTO}; }

bool sensible(const Vector& range, uint64_t window) {
  constexpr auto kWindow = static_cast<int64_t>(kWindowBytes);
  if (window > static_cast<uint64_t>(INT64_MAX) / kWindowBytes - 1) return false;
  const int64_t begin = static_cast<int64_t>(window) * kWindow;
  return well_formed(range) && range.offset >= begin && range.end() <= begin + kWindow;
}

}  // namespace pmio
