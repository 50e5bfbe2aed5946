// Where logs are kept when nobody says otherwise. The runtime and the pmio command ask here, so that they
// agree.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace pmio {

// A directory as the user writes it: %u is the user's name, %h the host's, %% a percent sign, $NAME and
// ${NAME} are variables of the environment. invalid: what comes out is not an absolute path, a variable is
// not set, or another letter follows the percent sign. Without a trailing slash.
Result<std::string> expand_directory(std::string_view text);

// $PMIO_DIR, expanded, if that is an absolute path; else /dev/shm/pmio-<uid> where /dev/shm can be written;
// else
// ${TMPDIR:-/tmp}/pmio-<uid>. <uid> is the effective user id. Creates and checks nothing. Without a trailing
// slash.
std::string default_directory();

}  // namespace pmio
