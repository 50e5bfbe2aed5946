// `pmio model ways`.
#pragma once

#include <CLI/CLI.hpp>

namespace pmio::cli {

void add_model_ways(CLI::App& model);

}  // namespace pmio::cli
