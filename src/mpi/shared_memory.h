// Memory that the ranks of a node share: it has a name only until all of them have opened it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"

namespace pmio {

using Shared = Result<std::shared_ptr<std::byte>>;

// Where the memory has its name for a while.
class SharedPlace {
 public:
  virtual ~SharedPlace() = default;
  virtual Shared create(const std::string& name, uint64_t bytes) = 0;
  virtual Shared open(const std::string& name, uint64_t bytes) = 0;
  virtual void remove(const std::string& name) = 0;
};

// /dev/shm.
class MemoryPlace final : public SharedPlace {
 public:
  Shared create(const std::string& name, uint64_t bytes) override;
  Shared open(const std::string& name, uint64_t bytes) override;
  void remove(const std::string& name) override;
};

// Collective: zeroed memory of so many bytes. One rank of each node creates it. barrier: nobody returns
// before all have come; false if somebody is not reached. on_all: whether all ranks have what this one has,
// or not. *all: whether all ranks have the memory.
Shared share_in(SharedPlace& place, const std::string& name, uint64_t bytes, bool creates,
                const std::function<bool()>& barrier, const std::function<bool(bool)>& on_all, bool* all);

}  // namespace pmio
