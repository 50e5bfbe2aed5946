// The log of a file as collective buffering writes to it and reads from it (twophase/store.h): what an
// aggregator has received goes into its own log, from which all ranks read it at once.
//
// Stripes that a call fills go to the file (pmio_direct_from is a stripe then), the rest stays in the log
// until the file is drained: in whole stripes, as far as they are full by then. Durability: as of
// File::append. Threads: one at a time.
#pragma once

#include "layout/layout.h"
#include "log/segment.h"
#include "node/file.h"
#include "twophase/store.h"

namespace pmio {

class LogStore final : public Store {
 public:
  // The file must outlive it. layout: of the stripes.
  LogStore(File& file, Layout layout) : file_(file), layout_(std::move(layout)) {}

  // What is written from now on is of that call.
  void begin_call(CallNumber call);
  // That call is over, and all its bytes are in some log or in the file. Of a rank that has given some.
  void end_call();

  const std::string& path() const override { return file_.target().path(); }
  Status write_each(uint64_t begin, const std::byte* window, std::span<const Interval> covered) override;
  void begin_reads(bool /*fresh*/) override {}  // a log is always
  void end_reads() override {}
  Status read(uint64_t offset, void* data, uint64_t length, uint64_t* got) override;
  Status write_own(PatternCursor& file, PatternCursor& memory, const std::byte* buffer,
                   uint64_t bytes) override;
  Status read_own(PatternCursor& file, PatternCursor& memory, std::byte* buffer, uint64_t bytes,
                  uint64_t* got) override;

 private:
  Status append(PatternCursor& to, PatternCursor& from, const std::byte* buffer, uint64_t bytes);
  // Of the window.
  Status append(uint64_t begin, const std::byte* window, Pattern pieces);

  File& file_;
  const Layout layout_;
  CallNumber call_;
  uint64_t began_ns_ = 0;   // the call
  uint64_t append_ns_ = 0;  // of it: in File::append
};

}  // namespace pmio
