// What the classes of this layer share of a job; private to the layers node and span.
#pragma once

#include <memory>

#include "base/pulse.h"
#include "job/membership.h"
#include "job/memory_watch.h"
#include "node/ending.h"
#include "node/file_table.h"
#include "node/job.h"
#include "node/lost_log.h"
#include "node/segment_map.h"
#include "node/shared_files.h"

namespace pmio {

class Background;
class CatchUp;

struct Job::Impl {
  explicit Impl(std::unique_ptr<Membership> joined);
  ~Impl();

  std::unique_ptr<Membership> member;
  SegmentMap map;
  SharedFiles shared_files;
  FileTable files;
  LostLog lost_log;
  MemoryWatch memory_watch;  // the background thread's
  Ending ending;
  std::unique_ptr<Background> background;  // since the first file; null: there can be no more threads
  std::unique_ptr<CatchUp> catch_up;       // since the first file that lags
  std::unique_ptr<Pulse> pulse;            // since the first file of several nodes

  Result<SegmentPool::Segment*> acquire_segment(SegmentPool::Need need);
  // All under the file table's mutex.
  void start_background();
  void start_catch_up();
  void start_pulse();
  // Gives back what of the log is in memory and free, or can be. The background thread's.
  void shrink_log();
};

}  // namespace pmio
