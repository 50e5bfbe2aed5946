// Recovery of all that the jobs of a test have left.
#pragma once

#include <gtest/gtest.h>

#include "recover/recover.h"
#include "support/node_fixture.h"

namespace pmio {

// Of each file all is brought in, or there was nothing to bring in.
inline void recover_all(const Scratch& scratch) {
  RecoverOptions options;
  options.directory = scratch.log_;
  auto report = recover(options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  for (const JobOutcome& job : report->jobs)
    for (const FileOutcome& file : job.files)
      EXPECT_TRUE(file.result == FileResult::clean || file.result == FileResult::restored) << file.message;
}

}  // namespace pmio
