// Where logs are kept when nobody says otherwise. The runtime and the pmio command ask here, so that they
// agree.
#pragma once

#include <string>

namespace pmio {

// $PMIO_DIR if it is an absolute path; else /dev/shm/pmio-<uid> where /dev/shm can be written; else
// ${TMPDIR:-/tmp}/pmio-<uid>. <uid> is the effective user id. Creates and checks nothing. Without a trailing
// slash.
std::string default_directory();

}  // namespace pmio
