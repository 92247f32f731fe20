#!/usr/bin/env bash
# Sweeps on engines: the recipes of host/src/guide/engines.md as they stand there, each with the real program, on
# tests/engines/plan.toml. Workers are killed in the middle of a seed; then everything is finished, and all files of
# the sweep are compared with those of one process.
#
#   tests/engines.sh            all engines; installs what is missing (Debian packages; Python's into target/engines)
#   tests/engines.sh NAME...    only these: parallel, slurm, ray, submitit, snakemake
#
# An engine that cannot be had is named and skipped, but under CI a failure. ICTD_PROGRAM=PATH instead of what is built.
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/platforms/cargo-for.sh
root=$PWD
work=$root/target/engines
slurm_place=$work/slurm-daemons
mkdir -p "$work/bin"
# What the engines leave there is removed in the end.
TMPDIR=$(mktemp -d)
export TMPDIR RAY_TMPDIR=$TMPDIR
trap 'rm -r "$TMPDIR"' EXIT
engines=("$@")
[ $# -gt 0 ] || engines=(parallel slurm ray submitit snakemake)

if [ -z "${ICTD_PROGRAM:-}" ]; then
  cargo build -q -p host
  ICTD_PROGRAM=$root/target/debug/ictd
fi
# Checkpoints every tenth of a second, so that there is a middle to be killed in.
cat >"$work/bin/ictd" <<SCRIPT
#!/bin/sh
case " \$* " in
*" --shard "*) exec "$ICTD_PROGRAM" "\$@" --checkpoint-every 0.1 ;;
*) exec "$ICTD_PROGRAM" "\$@" ;;
esac
SCRIPT
chmod +x "$work/bin/ictd"
export PATH=$work/bin:$PATH

# recipe ENGINE K: the K-th block of code in the engine's section of the guide.
recipe() {
  awk -v heading="## $1" -v wanted="$2" '
    /^## / { here = ($0 == heading) }
    here && /^```/ { if (inside) { inside = 0 } else { inside = 1; block++ }; next }
    here && inside && block == wanted { print; found = 1 }
    END { exit !found }' "$root/host/src/guide/engines.md"
}

# python_for MODULE: an environment that has it.
python_for() {
  local environment=$work/environment
  if [ ! -x "$environment/bin/pip" ]; then
    python3 -m venv "$environment" || { apt_install python3-venv && python3 -m venv "$environment"; } || return
  fi
  PATH=$environment/bin:$PATH
  python -c "import $1" 2>/dev/null && return
  echo "installing $1" >&2
  pip install -q --disable-pip-version-check "$1"
}

# catch: stops a process in the middle of a seed that has a checkpoint and is not finished, and sets worker and seed.
catch() {
  local lock end=$((SECONDS + 120))
  while ((SECONDS < end)); do
    for lock in $(find results -path '*/seed_*/.lock' 2>/dev/null | sort -R); do
      seed=${lock%/.lock}
      unfinished || continue
      worker=$(sed -n 's/^process \([0-9]*\) on .*/\1/p' "$lock")
      [ "$(cat "/proc/${worker:-none}/comm" 2>/dev/null)" = ictd ] || continue
      kill -STOP "$worker" || continue
      # Stopped it cannot finish the seed any more.
      sleep 0.05
      if unfinished && grep -q "process $worker " "$lock"; then return; fi
      kill -CONT "$worker"
    done
    sleep 0.05
  done
  echo "no worker was seen in the middle of a seed" >&2
  return 1
}

unfinished() { [ -e "$seed/checkpoint.bin" ] && [ ! -e "$seed/metrics.csv" ]; }

# is_gone PROCESS...: waits until they are.
is_gone() {
  local process
  for process in "$@"; do
    while grep -qs '^State:.[^Z]' "/proc/$process/status"; do sleep 0.05; done
  done
}

# killed HOW: after a kill; the seed is still unfinished.
killed() {
  is_gone "$worker"
  unfinished || { echo "$seed was finished all the same" >&2; return 1; }
  echo "    ${seed#results/} was left unfinished: $1" >&3
}

parent() { awk '/^PPid:/ { print $2 }' "/proc/$1/status"; }

on_parallel() {
  need parallel parallel || return 3
  recipe "GNU parallel" 1 >run.sh
  bash -e run.sh &
  catch
  kill -9 "$worker"
  killed "kill -9; parallel tries it again"
  catch
  local engine
  engine=$(parent "$worker")
  # All that it has begun, as a machine that loses its power does.
  pkill -9 -P "$engine"
  kill -9 "$engine"
  killed "kill -9 of parallel and all its processes; the same lines again"
  wait $! || true
  bash -e run.sh
}

on_slurm() {
  { need sbatch slurm-wlm && PATH=$PATH:/usr/sbin need munged munge; } || return 3
  if [ "$(id -u)" != 0 ]; then
    echo "slurmd runs as root only" >&2
    return 3
  fi
  "$root"/tests/engines/slurm.sh up "$slurm_place"
  export SLURM_CONF=$slurm_place/slurm.conf
  recipe Slurm 1 >shards.sh
  recipe Slurm 2 >run.sh
  bash -e run.sh &
  local job
  catch
  job=$(tr '\0' '\n' <"/proc/$worker/environ" | sed -n 's/^SLURM_JOB_ID=//p')
  # Slurm sends SIGTERM, and lets it go on.
  scontrol requeue "$job"
  killed "scontrol requeue $job"
  # A requeued job waits for two minutes; not here.
  until [[ $(scontrol show job "$job") == *JobState=PENDING* ]]; do sleep 0.2; done
  scontrol update JobId="$job" StartTime=now
  wait $!
}

on_ray() {
  python_for ray || return 3
  export RAY_USAGE_STATS_ENABLED=0
  recipe Ray 1 >run.py
  python run.py &
  catch
  kill -9 "$worker"
  killed "kill -9 of the program; Ray tries the task again"
  catch
  kill -9 "$(parent "$worker")" "$worker"
  killed "kill -9 of Ray's worker, too"
  wait $!
}

on_submitit() {
  python_for submitit || return 3
  recipe submitit 1 >run.py
  python run.py &
  catch
  # As Slurm does before it takes a job's machine away.
  kill -USR2 "$(parent "$worker")"
  killed "SIGUSR2, preempted; submitit starts it again"
  catch
  kill -9 "$(parent "$worker")" "$worker"
  killed "kill -9 of the job; the same script again"
  if wait $!; then
    echo "the script should say that a job failed" >&2
    return 1
  fi
  python run.py
}

on_snakemake() {
  python_for snakemake || return 3
  recipe Snakemake 1 >Snakefile
  snakemake --cores 2 --quiet all &
  catch
  kill -9 "$worker"
  killed "kill -9; Snakemake tries it again"
  wait $!
  # Nothing is left to do.
  [[ $(snakemake --cores 2 --dry-run 2>&1) == *"Nothing to be done"* ]]
}

# shellcheck disable=SC2317
clean_up() {
  local jobs
  jobs=$(jobs -p)
  # shellcheck disable=SC2086
  [ -z "$jobs" ] || kill $jobs
  [ ! -e "$slurm_place" ] || "$root"/tests/engines/slurm.sh down "$slurm_place"
}

# contents: the digest of each file but those that say who made it and when.
contents() {
  (cd "$1/results" && find . -type f ! -name .lock ! -name run.json -print0 | sort -z | xargs -0 sha256sum)
}

prepare() {
  rm -rf "${work:?}/$1"
  mkdir "$work/$1"
  cp tests/engines/plan.toml "$work/$1"
}

prepare one
(
  cd "$work/one"
  ictd sweep plan.toml --out results >log 2>&1
  ictd sweep plan.toml --out results --collect >>log 2>&1
) || { cat "$work/one/log"; exit 1; }
contents "$work/one" >"$work/one.sums"
seeds=$(grep -c '/seed_[0-9]*/parameters.safetensors$' "$work/one.sums")
[ "$seeds" = 48 ] && grep -q ' ./sweep/sweep.csv$' "$work/one.sums" && grep -q '\.svg$' "$work/one.sums"

failed=0
for engine in "${engines[@]}"; do
  echo "$engine"
  start=$SECONDS
  prepare "$engine"
  # In a shell of its own, which the first error ends.
  set +e
  (
    set -e
    trap clean_up EXIT
    cd "$work/$engine"
    case $engine in
    parallel) on_parallel ;;
    slurm) on_slurm ;;
    ray) on_ray ;;
    submitit) on_submitit ;;
    snakemake) on_snakemake ;;
    *) echo "accepted are parallel, slurm, ray, submitit and snakemake" >&2 && exit 2 ;;
    esac
  ) 3>&1 >"$work/$engine/log" 2>&1
  code=$?
  set -e
  if [ $code = 3 ] && [ -z "${CI:-}" ]; then
    echo "    skipped: $(tail -n 1 "$work/$engine/log")"
  elif [ $code != 0 ]; then
    echo "    FAILED ($code); the end of target/engines/$engine/log:"
    tail -n 15 "$work/$engine/log" | sed 's/^/    /'
    failed=1
  elif ! contents "$work/$engine" | diff "$work/one.sums" - >"$work/$engine.diff"; then
    echo "    DIFFERENT:"
    head -n 10 "$work/$engine.diff" | sed 's/^/    /'
    failed=1
  else
    echo "    $(wc -l <"$work/one.sums") files equal those of one process, in $((SECONDS - start)) s"
  fi
done
exit $failed
