"""The testbed: several hosts on this machine, made of namespaces (testbed/README.md). The command is testbed/testbed.

  system       commands of the system; what goes wrong is a TestbedError, one line that says what to do
  settings     what one testbed consists of, and the directory that holds all of it
  network      namespaces, the switch, links and their rates
  host         a host: its process 1, its mounts, commands on it
  file_system  the parallel file system; moosefs and ceph are its kinds
  launch       the words that start an MPI job, by a library's own launcher or by Slurm
  slurm        Slurm on the hosts
  bed          all of it: up, down, status
"""
