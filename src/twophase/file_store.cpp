#include "twophase/store.h"

namespace pmio {

// Never as one with the bytes of the holes: others may write there meanwhile.
Status FileStore::write_each(uint64_t begin, const std::byte* window, std::span<const Interval> covered) {
  return file_.write_each(begin, window, covered);
}

Result<TargetFile*> FileStore::file_to_read() {
  if (!is_fresh_) return &file_;
  if (fresh_ == nullptr) {
    auto opened = FreshFile::of(file_);
    if (!opened.ok()) return opened.status();
    fresh_ = std::move(opened).value();
  }
  return &fresh_->target();
}

Status FileStore::read(uint64_t offset, void* data, uint64_t length, uint64_t* got) {
  const Result<TargetFile*> file = file_to_read();
  return file.ok() ? file.value()->read(offset, data, length, got) : file.status();
}

Status FileStore::write_own(PatternCursor& file, PatternCursor& memory, const std::byte* buffer,
                            uint64_t bytes) {
  return StraightFile::write_to(file_, file, memory, buffer, bytes);
}

Status FileStore::read_own(PatternCursor& file, PatternCursor& memory, std::byte* buffer, uint64_t bytes,
                           uint64_t* got) {
  const Result<TargetFile*> target = file_to_read();
  if (!target.ok()) return target.status();
  return StraightFile::read_from(*target.value(), file, memory, buffer, bytes, got);
}

}  // namespace pmio
