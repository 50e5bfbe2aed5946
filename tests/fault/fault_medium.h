// A Medium whose directory belongs to a Machine: it tells the machine of every store, flush and fence, and
// fails where the machine says. It keeps the contract of medium/medium.h to the letter: what was not flushed
// before the fence is not durable, and the policies differ as they do for disks.
#pragma once

#include "machine.h"

namespace pmio::fault {

class FaultMedium final : public Medium {
 public:
  FaultMedium(Machine& machine, std::unique_ptr<Medium> real, MediumKind kind, Durability durability)
      : machine_(machine), real_(std::move(real)), kind_(kind), durability_(durability) {}

  MediumKind kind() const override { return kind_; }
  Durability durability() const override { return durability_; }
  const std::string& directory() const override { return real_->directory(); }
  Result<std::unique_ptr<Region>> create(std::string_view name, size_t size_bytes, bool lasting) override;
  Result<std::unique_ptr<Region>> open(std::string_view name, bool read_only) override;
  Status remove(std::string_view name) override { return real_->remove(name); }
  Result<std::vector<std::string>> list() const override { return real_->list(); }

 private:
  std::unique_ptr<Region> wrap(std::string_view name, std::unique_ptr<Region> real);
  Machine& machine_;
  std::unique_ptr<Medium> real_;
  const MediumKind kind_;
  const Durability durability_;
};

}  // namespace pmio::fault
