// `pmio advise pattern`: a described pattern of writes by each way.
#pragma once

#include <CLI/CLI.hpp>

namespace pmio::cli {

void add_advise_pattern(CLI::App& advise);

}  // namespace pmio::cli
