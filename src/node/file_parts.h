// What a File consists of; private to the layers node and span.
#pragma once

#include <memory>

#include "node/appender.h"
#include "node/background_drain.h"
#include "node/contest.h"
#include "node/direct_writer.h"
#include "node/file.h"
#include "node/large_pieces.h"
#include "node/log_reader.h"
#include "node/logged_end.h"
#include "node/reach.h"
#include "node/shared_file.h"
#include "node/target_changes.h"

namespace pmio {

struct FileParts {
  // Not attached yet. reach_maker: empty, if all ranks are on this node.
  FileParts(Job::Impl& job, const std::string& key, const FileIdentity& identity,
            const ReachMaker& reach_maker);
  ~FileParts();
  FileParts(const FileParts&) = delete;
  FileParts& operator=(const FileParts&) = delete;

  SharedFile shared;
  LoggedEnd logged_end;
  std::unique_ptr<Reach> reach;
  DirectWriter direct_writer;
  LogReader reader;
  IdleSightings idle_sightings;
  LargePieces large_pieces;
  Appender appender;
  Contest contest;
  BackgroundDrain background_drain;
  TargetChanges changes;
  // Under the file table's mutex.
  uint32_t handles = 0;
  uint32_t releasing = 0;  // releases that have found no handle left
  bool lags = false;       // set_lags

  // Whether this rank has closed it, and it may not be complete: others learn of it. The file table's mutex
  // is held, or nobody else has the file.
  void set_lags(bool now);
  // Closed: the control block is not this rank's any more.
  void leave();
  void let_go();  // of all that this rank has of it; nothing is undrained
  void add_up(bool waits);

 private:
  bool has_left_ = false;
};

}  // namespace pmio
