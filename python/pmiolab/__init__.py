"""What tests, benchmarks, studies and the testbed share.

A script finds this package by the link `pmiolab` beside it, without installation and from any directory:
Python looks for modules in the folder of the script first. A new folder of scripts gets such a link.

  places           source tree, build directory, temporary directories
  command_line     options that several scripts have
  checks, tables   what a test says, its exit code; tables and JSON files of results
  processes        processes that do not outlive the script
  process_table    what the kernel tells of processes, and killing them
  mpi_libraries    the MPIs that a build serves, and the environment that their launchers need
  mpi_jobs         MPI jobs on this machine
  real_programs    a program plain and under `pmio run`
  comparison       contestants of a benchmark: rates, medians, ratios, targets
  grid_patterns    how known programs write; what a grid of them says: grid_results
  figures          drawings of results

Of single subjects:

  crash_writer, killed_jobs, spanning_jobs     jobs that are killed and recovered, on this machine and on several hosts
  differential                                 random scenarios, compared with plain MPI-IO
  mpi_functions, call_counter, transfer_calls  programs made from src/mpi/functions.py
  client_records, pages                        records that tests leave, and pages of docs/ written from them
  hosts, cluster                               the testbed for a test, and the testbed
"""
