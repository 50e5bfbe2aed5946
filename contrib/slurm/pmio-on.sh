#!/bin/sh
# Slurm task prolog: switches pmio on for every task of every job, whatever its MPI. Name it in slurm.conf as TaskProlog=, or
# call it from the site's own; what it prints, slurmd sets in the task's environment. A task whose LD_PRELOAD names pmio
# already, and one with PMIO_MODE=off, is left as it is.
#
# PMIO_LIBRARY: libpmio.so. Without, that of the installation that this script is in.
library=${PMIO_LIBRARY:-}
if [ -z "$library" ]; then
  prefix=$(cd "$(dirname "$(readlink -f "$0")")/../../.." && pwd)
  for library in "$prefix"/lib/pmio/libpmio.so "$prefix"/lib*/pmio/libpmio.so "$prefix"/lib/*/pmio/libpmio.so; do
    [ ! -r "$library" ] || break
  done
fi
# The loader complains of a library that is not there, to every program of the job.
[ -r "$library" ] || exit 0
case ${PMIO_MODE:-}:${LD_PRELOAD:-} in
  [Oo][Ff][Ff]:* | *libpmio.so*) ;;
  *) echo "export LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$library" ;;
esac
exit 0
