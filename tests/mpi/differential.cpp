// Random MPI-IO scenarios whose every visible value goes into a record, to be compared between plain MPI-IO
// and pmio (tests/differential.py does).
//
//   differential --dir D --record PREFIX [--seed FIRST] [--seeds N] [--ops N] [--reference] [--no-darray]
//   [--portable] [--by-all] [--no-shared] [--consecutive] [--keep]
//
// Files are made in D; rank r writes the record PREFIX.r, one line per value: "seed:operation what".
#include <cstdlib>
#include <cstring>

#include "differential_scenario.h"

namespace {

struct Arguments {
  differential::Settings settings;
  std::string record;
  uint64_t first = 1, seeds = 1;
};

[[noreturn]] void usage() {
  fprintf(stderr,
          "usage: differential --dir D --record PREFIX [--seed FIRST] [--seeds N] [--ops N] [--reference]"
          " [--no-darray] [--portable] [--by-all] [--no-shared]"
          " [--consecutive] [--keep]\n");
  exit(2);
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i++) {
    const std::string option = argv[i];
    if (option == "--reference") {
      arguments.settings.reference = true;
    } else if (option == "--no-darray") {
      arguments.settings.with_darray = false;
    } else if (option == "--portable") {
      arguments.settings.portable = true;
    } else if (option == "--by-all") {
      arguments.settings.by_all = true;
    } else if (option == "--no-shared") {
      arguments.settings.shared_pointers = false;
    } else if (option == "--consecutive") {
      arguments.settings.consecutive = true;
    } else if (option == "--keep") {
      arguments.settings.keep_files = true;
    } else if (i + 1 == argc) {
      usage();
    } else {
      const char* value = argv[++i];
      if (option == "--dir")
        arguments.settings.directory = value;
      else if (option == "--record")
        arguments.record = value;
      else if (option == "--seed")
        arguments.first = strtoull(value, nullptr, 10);
      else if (option == "--seeds")
        arguments.seeds = strtoull(value, nullptr, 10);
      else if (option == "--ops")
        arguments.settings.operations = atoi(value);
      else
        usage();
    }
  }
  if (arguments.settings.directory.empty() || arguments.record.empty()) usage();
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  // Errors are values to compare; waiting for a failed request reports them through the communicator's
  // handler.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const Arguments arguments = parse(argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FILE* record = fopen((arguments.record + "." + std::to_string(rank)).c_str(), "w");
  if (!record) {
    perror(arguments.record.c_str());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  // A run that hangs or dies is judged by its last line.
  setvbuf(record, nullptr, _IOLBF, 0);
  for (uint64_t seed = arguments.first; seed < arguments.first + arguments.seeds; seed++)
    differential::Scenario(arguments.settings, seed, record).run();
  fprintf(record, "done\n");
  fclose(record);
  MPI_Finalize();
  return 0;
}
