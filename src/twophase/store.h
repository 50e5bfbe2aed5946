// Where the bytes of collective buffering go to and come from: the file, or a log of it that reads find.
//
// What is written is seen by every later read of the same store, on any rank. Durability: the store's own.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "drain/interval.h"
#include "drain/straight_file.h"
#include "drain/target.h"
#include "extent/pattern.h"

namespace pmio {

class Store {
 public:
  virtual ~Store() = default;

  virtual const std::string& path() const = 0;
  // Writes the covered intervals (sorted, disjoint) of a window, and nothing between them. window[0] is byte
  // `begin` of the file.
  virtual Status write_each(uint64_t begin, const std::byte* window, std::span<const Interval> covered) = 0;
  // Around the reads of a call. fresh: they see what was synced on other nodes before the first of them.
  virtual void begin_reads(bool fresh) = 0;
  virtual void end_reads() = 0;
  // *got is less only at the end of the file.
  virtual Status read(uint64_t offset, void* data, uint64_t length, uint64_t* got) = 0;
  // A rank's own bytes, without an exchange: as StraightFile::write_to and read_from.
  virtual Status write_own(PatternCursor& file, PatternCursor& memory, const std::byte* buffer,
                           uint64_t bytes) = 0;
  virtual Status read_own(PatternCursor& file, PatternCursor& memory, std::byte* buffer, uint64_t bytes,
                          uint64_t* got) = 0;
};

// The file itself, which must outlive it. Durability: none.
class FileStore final : public Store {
 public:
  explicit FileStore(TargetFile& file) : file_(file) {}

  const std::string& path() const override { return file_.path(); }
  Status write_each(uint64_t begin, const std::byte* window, std::span<const Interval> covered) override;
  void begin_reads(bool fresh) override { is_fresh_ = fresh; }
  void end_reads() override { fresh_.reset(); }  // its reads are the file's from here on
  Status read(uint64_t offset, void* data, uint64_t length, uint64_t* got) override;
  Status write_own(PatternCursor& file, PatternCursor& memory, const std::byte* buffer,
                   uint64_t bytes) override;
  Status read_own(PatternCursor& file, PatternCursor& memory, std::byte* buffer, uint64_t bytes,
                  uint64_t* got) override;

 private:
  Result<TargetFile*> file_to_read();

  TargetFile& file_;
  bool is_fresh_ = false;             // the call's reads
  std::unique_ptr<FreshFile> fresh_;  // the same, since its first access
};

}  // namespace pmio
