// One run over the dead jobs of a log directory: it does what recover.h promises, for the files that are
// meant.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "drain/target.h"
#include "recover/recover.h"

namespace pmio {

// Which files of the jobs are meant.
struct Selection {
  std::optional<FileIdentity> identity;
  std::string path;
  bool everything() const { return !identity && path.empty(); }
  bool has(const FileInfo& file) const {
    if (everything() || (identity && same_file(*identity, file.target))) return true;
    return std::find(file.paths.begin(), file.paths.end(), path) != file.paths.end();
  }
};

// names: of the jobs. only: if given, the segments of other files are not looked at.
Result<RecoverReport> recover_in(const LogDirectory& parent, const std::vector<std::string>& names,
                                 const Selection& selection, const RecoverOptions& options,
                                 const FileIdentity* only);

}  // namespace pmio
