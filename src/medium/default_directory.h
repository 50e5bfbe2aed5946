// Where logs are kept if nobody says otherwise. The runtime and the pmio command both ask here, so that they
// agree.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace pmio {

// Expands a directory as the user writes it: %u is the user's name, %h the host's, %% a percent sign, $NAME
// and
// ${NAME} are variables of the environment. The result has no trailing slash. invalid: the result is not an
// absolute path, a variable is not set, or another letter follows the percent sign.
Result<std::string> expand_directory(std::string_view text);

// $PMIO_DIR, expanded, if that is an absolute path; else /dev/shm/pmio-<uid> if /dev/shm can be written; else
// ${TMPDIR:-/tmp}/pmio-<uid>. <uid> is the effective user id. There is no trailing slash. Nothing is created
// or checked.
std::string default_directory();

}  // namespace pmio
