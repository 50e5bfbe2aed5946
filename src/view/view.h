// A file view: displacement, etype and filetype, as byte patterns.
//
// It owns what it needs: the program may free its datatypes. Threads: immutable when it is made. Offsets are
// counted as MPI does, in etypes from the view's start; file offsets are bytes from the start of the file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "extent/pattern.h"
#include "view/datatype.h"

namespace pmio {

struct FileView {
  int64_t displacement = 0;
  std::shared_ptr<const FlatType> etype;
  std::shared_ptr<const FlatType> filetype;
  std::string datarep = "native";

  // Errors: invalid: a negative displacement, or a filetype that is not made of etypes. unsupported: pmio
  // must hand the calls on to the MPI below. The representation is not native, or a type cannot be flattened.
  // Or the etype has no bytes, or bytes of the filetype overlap or do not ascend. If the tiles of a filetype
  // overlap (HDF5 builds such for one use of it), the view is the first tile. It is cheap for types that were
  // seen before.
  static Result<FileView> make(int64_t displacement, MPI_Datatype etype, MPI_Datatype filetype,
                               const std::string& datarep = "native");
  // The view of a file that has just been opened: bytes.
  static Result<FileView> bytes();

  uint64_t etype_size() const { return etype->size; }
  // Whether `bytes` data bytes from etype_offset on lie in the view and below 2^63. It is checked before the
  // following three. With a limit it is false, too, if the end of their last tile, which may be a hole, lies
  // behind the limit.
  bool reaches(int64_t etype_offset, uint64_t bytes, int64_t limit = INT64_MAX) const;
  // What MPI_File_get_byte_offset returns: the file offset of the first byte at or after etype_offset.
  int64_t byte_offset(int64_t etype_offset) const { return cursor(etype_offset).offset(); }
  // The cursor is valid as long as this view.
  PatternCursor cursor(int64_t etype_offset) const;
  // One past the last file byte of a transfer; the byte offset if bytes == 0.
  int64_t end_offset(int64_t etype_offset, uint64_t bytes) const;

  // The number of whole etypes in so many data bytes.
  uint64_t etypes_in(uint64_t bytes) const { return bytes / etype->size; }
  // The number of the view's data bytes that lie before file_offset.
  uint64_t bytes_before(int64_t file_offset) const;
  // The etype offset that MPI_SEEK_END counts from in a file of file_size bytes: past every etype that has
  // begun.
  int64_t end_of_file(int64_t file_size) const;
};

}  // namespace pmio
