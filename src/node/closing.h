// The close of a file on this rank, and what becomes of it. It is released, at rest, or not complete yet
// because it was closed by pmio_close=background (docs/decisions/0014-files-that-rest.md,
// 0026-a-close-that-does-not-wait.md).
//
// Threads: any.
#pragma once

#include <optional>

#include "base/status.h"
#include "node/reach.h"

namespace pmio {

class File;

class Closing {
 public:
  explicit Closing(File& file) : file_(file) {}

  // Before the last close on this rank: gives this rank's segments back, or lets the file rest if that is
  // given. All ranks that share the handle have drained. After a drain error the segments stay, and the error
  // is returned as kept_in_log.
  Status release(const std::optional<RestingState>& resting = {});
  // In the place of a drain before release: the file may be complete later than its close. All that share the
  // handle have published. On return what this rank has logged is as durable as the log allows, and the job's
  // ranks of this node know that it lags. False: the close has to drain it, as something has failed, or too
  // many files lag already.
  bool begin_lag();
  // release, when all ranks that share the handle have begun to lag.
  void release_later();
  // Whether some rank of the node has closed it, and it may not be complete.
  bool lags() const;
  // Before it is opened again: it is complete on return, and what others have written since is seen.
  Status complete();
  // Whether nobody of the job can have it open on this node.
  bool is_closed() const;
  // The same, and it has no name any more.
  bool is_gone() const;
  // The error of a drain after the close, with the log's place in its message.
  Status lags_on(const Status& status) const;
  // The error of a drain, with the log's place in its message and what to do.
  Status kept_in_log(const Status& status) const;

 private:
  File& file_;
};

}  // namespace pmio
