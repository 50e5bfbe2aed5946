#!/bin/sh
# Slurm task prolog: switches pmio on for every task of every job, whatever its MPI. Name it in slurm.conf as
# TaskProlog=, or call it from the site's own. slurmd sets what it prints in the task's environment. A task is left as
# it is if its LD_PRELOAD names pmio already, or if it has PMIO_MODE=off.
#
# PMIO_LIBRARY: libpmio.so; by default that of the installation that this script is in.
library=${PMIO_LIBRARY:-}
if [ -z "$library" ]; then
  prefix=$(cd "$(dirname "$(readlink -f "$0")")/../../.." && pwd)
  for library in "$prefix"/lib/pmio/libpmio.so "$prefix"/lib*/pmio/libpmio.so "$prefix"/lib/*/pmio/libpmio.so; do
    [ ! -r "$library" ] || break
  done
fi
# If a library is not there, the loader complains to every program of the job.
[ -r "$library" ] || exit 0
case ${PMIO_MODE:-}:${LD_PRELOAD:-} in
  [Oo][Ff][Ff]:* | *libpmio.so*) ;;
  *) echo "export LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$library" ;;
esac
exit 0
