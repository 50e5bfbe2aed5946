#!/bin/sh
# Slurm prolog and epilog: a tmpfs with huge pages on each node for the logs of one job, which belongs to the job's user
# and goes with the job. Name it in slurm.conf as Prolog= and Epilog=, or call it from the site's own scripts, and set
# in etc/pmio.conf
#
#   pmio_dir = /run/pmio/$SLURM_JOB_ID
#
# As an epilog it first brings the job's logs into the files, by pmio-recover.sh beside it. If a log is left that cannot
# be brought in, the tmpfs stays, and the system log says so: what a job has been told is written is not thrown away.
#
# PMIO_TMPFS_SIZE: how large it may get; default: 20%, of the node's memory. Half of that is for logs. Memory is taken
# only when it is used.
# PMIO_TMPFS_HUGE: within_size by default.
# It never fails, since a failing script takes the node out of service. Without the tmpfs the logs are in /dev/shm.
root=${PMIO_TMPFS_ROOT:-/run/pmio}
place=$root/${SLURM_JOB_ID:-}
say() { logger -t pmio -p "user.$1" "$2"; }
[ -n "${SLURM_JOB_ID:-}" ] && [ -n "${SLURM_JOB_UID:-}" ] || exit 0

make() {
  mkdir -p -m 755 "$root" && mkdir -p -m 700 "$place" || { say warning "$place cannot be made"; return; }
  mountpoint -q "$place" && return # of a job that was requeued
  group=$(id -g "$SLURM_JOB_UID" 2> /dev/null || echo 0)
  options=nosuid,nodev,noexec,mode=0700,uid=$SLURM_JOB_UID,gid=$group,size=${PMIO_TMPFS_SIZE:-20%}
  mount -t tmpfs -o "$options,huge=${PMIO_TMPFS_HUGE:-within_size}" pmio "$place" 2> /dev/null ||
    mount -t tmpfs -o "$options" pmio "$place" || # a kernel without huge pages
    { say warning "no tmpfs at $place"; rmdir "$place"; }
}

remove() {
  mountpoint -q "$place" || { rmdir "$place" 2> /dev/null; return; }
  "${PMIO_RECOVER:-$(dirname "$(readlink -f "$0")")/pmio-recover.sh}"
  if [ -n "$(find "$place" -mindepth 1 -maxdepth 1 -name 'job-*' -print -quit)" ]; then
    say warning "$place stays: there are logs that could not be brought in ('pmio inspect --dir $place'); when it is empty, umount it"
    return
  fi
  # Processes that are still dying may have it open.
  umount "$place" 2> /dev/null || umount -l "$place" || return
  rmdir "$place"
}

case ${SLURM_SCRIPT_CONTEXT:-} in
  prolog_*) make ;;
  epilog_*) remove ;;
esac
exit 0
