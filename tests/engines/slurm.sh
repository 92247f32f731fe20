#!/usr/bin/env bash
# A Slurm of this machine alone, on the loopback interface: munge, slurmctld and slurmd of the user who calls.
#   tests/engines/slurm.sh up DIR      starts them; DIR/slurm.conf is for SLURM_CONF
#   tests/engines/slurm.sh down DIR    stops them
set -euo pipefail
export PATH=$PATH:/usr/sbin
what=${1:?usage: slurm.sh up|down DIR}
mkdir -p "${2:?usage: slurm.sh up|down DIR}"
here=$(cd "$2" && pwd)
# Before `pid FILE` a process of an earlier start, which holds it no more, could have another's number.
stop() {
  local daemon pid
  for daemon in slurmd slurmctld munged; do
    pid=$(cat "$here/$daemon.pid" 2>/dev/null) || continue
    if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$daemon" ]; then kill "$pid"; fi
  done
}
if [ "$what" = down ]; then
  stop
  exit
fi

stop
rm -rf "${here:?}"/{state,spool,log}
mkdir -p "$here"/{state,spool,log}
# A socket's path has at most 107 characters.
socket=$(mktemp -u -t munge-XXXXXX)
(umask 077 && dd if=/dev/urandom of="$here/munge.key" bs=1024 count=1 status=none)
munged --force --socket="$socket" --key-file="$here/munge.key" --pid-file="$here/munged.pid" \
  --log-file="$here/log/munged.log" --seed-file="$here/munge.seed"
node=$(hostname -s)
user=$(id -un)
cat >"$here/slurm.conf" <<CONF
ClusterName=one
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$socket
StateSaveLocation=$here/state
SlurmdSpoolDir=$here/spool
SlurmctldPidFile=$here/slurmctld.pid
SlurmdPidFile=$here/slurmd.pid
SlurmctldLogFile=$here/log/slurmctld.log
SlurmdLogFile=$here/log/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
KillWait=5
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc)
PartitionName=all Nodes=ALL Default=YES
CONF
export SLURM_CONF=$here/slurm.conf
slurmctld -c
slurmd
for _ in $(seq 60); do
  if sinfo -h -o %t 2>/dev/null | grep -q idle; then exit; fi
  sleep 0.5
done
echo "Slurm does not become idle:" >&2
tail -n 5 "$here"/log/*.log >&2
exit 1
