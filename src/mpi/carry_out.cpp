#include "mpi/carry_out.h"

#include <cerrno>
#include <string>

namespace pmio {

void tell_call(const Handle& handle, const Transfer& transfer, int64_t etype_offset, uint64_t bytes) {
  const FileView& view = handle.view;
  const bool somewhere = view.filetype->size != 0 && view.reaches(etype_offset, 0);
  IoLines::tell(transfer.direction == Direction::write ? IoLines::collective_write : IoLines::collective_read,
                somewhere ? static_cast<uint64_t>(view.byte_offset(etype_offset)) : 0, bytes, handle.path);
}

Status check_end(Handle& handle, Direction direction, int64_t etype_offset, uint64_t bytes) {
  if (!handle.view.reaches(etype_offset, bytes)) {
    return {Code::invalid,
            "a transfer beyond the largest file offset, or beyond the first of filetypes that overlap each "
            "other"};
  }
  if (handle.largest_bytes == INT32_MAX) handle.largest_bytes = handle.target().largest_bytes();
  if (direction == Direction::read || handle.view.end_offset(etype_offset, bytes) <= handle.largest_bytes)
    return {};
  return Status::from_errno(EFBIG, "cannot write '" + handle.path + "' beyond byte " +
                                       std::to_string(handle.largest_bytes.load()) +
                                       ", the last that its file system takes");
}

}  // namespace pmio
