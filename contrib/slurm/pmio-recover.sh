#!/bin/sh
# Slurm epilog and prolog: brings into the files what the job's user has left in pmio's logs on this node. Call it from
# the site's scripts, or name it in slurm.conf: as Epilog= for jobs that were killed, as Prolog= for what a node that
# went down still has. slurmd runs it as root; pmio does everything as the user.
#
# It never fails, since a failing script takes the node out of service. What it has to say goes to the system log.
# Logs of the user's other, running jobs are left alone.
#
# PMIO: the pmio command. By default it is that of the installation that this script is in. If the script was copied
# to another place, it is the one in PATH.
beside=$(dirname "$(readlink -f "$0")")/../../../bin/pmio
[ -x "$beside" ] || beside=$(command -v pmio || echo /usr/bin/pmio)
pmio=${PMIO:-$beside}
user=${SLURM_JOB_UID:-}
[ -n "$user" ] && [ "$user" != 0 ] || exit 0
# Processes that were killed hold their logs a moment longer. If another job of the user's goes on, the epilog waits
# the whole time.
wait=${PMIO_RECOVER_WAIT:-10}
[ "${SLURM_SCRIPT_CONTEXT:-}" != prolog_slurmd ] || wait=0
said=$(timeout "${PMIO_RECOVER_SECONDS:-600}" "$pmio" recover --all --user "$user" --wait "$wait" 2>&1)
code=$?
[ "$code" != 124 ] || said="${said:+$said
}pmio recover took longer than ${PMIO_RECOVER_SECONDS:-600} s and was stopped; it can be repeated"
case $code,$said in
  0,) ;;
  0,* | 3,*) echo "$said" | logger -t pmio -p user.info ;;
  *) echo "${said:-pmio recover ended with $code}" | logger -t pmio -p user.warning ;;
esac
exit 0
