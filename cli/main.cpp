// `pmio`: one command, its subcommands registered by their own files (commands.h).
#include "cli/commands.h"

#include <cstdio>
#include <exception>
#include <vector>

#include "cli/common/settings.h"

namespace pmio::cli {
namespace {

std::vector<AddCommand>& registered() {
  static std::vector<AddCommand>
      commands;  // a function's static: registrations run before main, in any order
  return commands;
}

int exit_code = 0;

}  // namespace

Registration::Registration(AddCommand add) { registered().push_back(add); }

void set_exit_code(int code) { exit_code = code; }

static int parse_and_run(int argc, char** argv) {
  CLI::App app{
      "Runs MPI programs with their MPI-IO writes logged in node-local memory, and looks after the logs.",
      "pmio"};
  app.set_version_flag("--version", "pmio " PMIO_VERSION);
  app.require_subcommand(1);
  adopt_site_directories();
  for (AddCommand add : registered()) add(app);
  try {
    app.parse(cut_program(app, argc, argv), argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 numbers its errors from 100; a shell script expects 2 for a usage error.
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    fprintf(stderr, "pmio: %s\n", error.what());
    return 1;
  }
  return exit_code;
}

}  // namespace pmio::cli

int main(int argc, char** argv) { return pmio::cli::parse_and_run(argc, argv); }
