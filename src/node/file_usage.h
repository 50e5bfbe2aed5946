// Who uses a file, and how much of it: for what a close may leave out, and for files that are hardly used.
//
// Threads: any.
#pragma once

#include <cstdint>

namespace pmio {

struct FileParts;

class FileUsage {
 public:
  explicit FileUsage(FileParts& parts) : parts_(parts) {}

  // Whether any local rank has logged anything, or is about to, since the file was opened by the first of
  // them. Several nodes: always, as other nodes' ranks are not known here.
  bool ever_logged() const;
  // Whether this process has it open by more than one handle.
  bool has_other_handles() const;
  // Whether more than so many processes of the node use it.
  bool has_more_users(int processes) const;
  // Whether this process has read from it since it has it open.
  bool was_read() const;
  // No more calls and bytes than that, of this process, written or read, since it has the file open.
  // collective: and all that write are.
  bool has_few_calls(uint64_t calls, uint64_t bytes, bool collective) const;

 private:
  FileParts& parts_;
};

}  // namespace pmio
