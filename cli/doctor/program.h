// What `pmio doctor` looks at of a program that it is given. The program is not started.
#pragma once

#include <string>

#include "cli/doctor/checks.h"

namespace pmio::cli {

// Whether pmio can take the program over, and whether a library that it loads goes past MPI-IO.
void check_program(Diagnosis& diagnosis, const std::string& program);

}  // namespace pmio::cli
