// How a subcommand of `pmio` plugs in: its file defines add_<name> and one Registration at namespace scope.
//
//   namespace pmio::cli {
//   void add_doctor(CLI::App& app) {
//     auto options = std::make_shared<Options>();
//     CLI::App* command = app.add_subcommand("doctor", "...");
//     command->add_option("--dir", options->directory, "...");
//     command->callback([options] { set_exit_code(doctor(*options)); });
//   }
//   static const Registration registration(add_doctor);
//   }
//
// Exit codes: 0 done, 1 something is wrong (what, stands on stderr), 2 a usage error, 3 of wait: it took too
// long.
// Threads: main only.
#pragma once

#include <CLI/CLI.hpp>

namespace pmio::cli {

using AddCommand = void (*)(CLI::App& app);

struct Registration {
  explicit Registration(AddCommand add);
};

void add_run(CLI::App& app);
// Keeps the words that belong to the program which `pmio run` starts; gives the argc of what is pmio's own.
int cut_program(const CLI::App& app, int argc, char** argv);
void add_doctor(CLI::App& app);
void add_bench(CLI::App& app);
void add_recover(CLI::App& app);
void add_discard(CLI::App& app);
void add_inspect(CLI::App& app);
void add_stats(CLI::App& app);
void add_report(CLI::App& app);
void add_wait(CLI::App& app);
void add_model(CLI::App& app);
void add_calibrate(CLI::App& app);
void add_simulate(CLI::App& app);
void add_advise(CLI::App& app);

// What `pmio` will exit with, when called from a subcommand's callback; 0 without.
void set_exit_code(int code);

}  // namespace pmio::cli
