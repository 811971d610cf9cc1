# daemons.sh — munged, slurmctld, slurmd and the accounting pair, started inside spaces. Sourced by cluster.
# shellcheck shell=bash
# shellcheck disable=SC2154  # dir, nodes and accounting are set by the file that sources this one

start_munged() {  # one for all spaces: a socket on a shared file system does not care for networks
  local munge=/etc/slurm/munge log=$dir/slurm/log/munged.log
  head -c 128 /dev/urandom > "$dir/slurm/munge/key"
  chmod 600 "$dir/slurm/munge/key"
  enter head timeout 60 munged --force --key-file=$munge/key --socket=$munge/socket \
    --pid-file=$munge/pid --seed-file=$munge/seed --log-file=/etc/slurm/log/munged.log \
    2> "$log.start" || die 'munged did not start' "$log.start" "$log"
  wait_until 'munged to answer' "$log" test -S "$dir/slurm/munge/socket"
}

start_accounting() {
  local log=$dir/slurm/log/mariadbd.log
  mkdir -p "$dir/slurm/mysql"
  # No grant tables: only this head space reaches the address, so a password would add nothing.
  enter head setsid mariadbd --no-defaults --user=root --skip-grant-tables --bind-address=127.0.0.1 \
    --datadir=/etc/slurm/mysql --socket=/etc/slurm/mysql/socket --pid-file=/etc/slurm/mysql/pid \
    --innodb-flush-log-at-trx-commit=0 < /dev/null > "$log" 2>&1 &
  wait_until 'the database to answer' "$log" test -S "$dir/slurm/mysql/socket"
  enter head slurmdbd || die 'slurmdbd did not start' "$dir/slurm/log/slurmdbd.log"
  wait_until 'slurmdbd to answer' "$dir/slurm/log/slurmdbd.log" register_cluster
}

register_cluster() { enter head timeout 5 sacctmgr -i add cluster cluster > /dev/null 2>&1; }

controller_answers() { enter head timeout 5 scontrol ping > /dev/null 2>&1; }

start_slurmctld() {
  local log=$dir/slurm/log/slurmctld.log
  enter head timeout 60 slurmctld 2> "$log.start" ||
    die 'slurmctld did not start' "$log.start" "$log"
  wait_until 'slurmctld to answer' "$log" controller_answers
}

slurmctld_pid() { cat "$dir/slurm/state/slurmctld.pid" 2> /dev/null; }

slurmctld_ended() {
  local pid
  pid=$(slurmctld_pid) || return 0
  ! enter head kill -0 "$pid" 2> /dev/null
}

stop_slurmctld() {
  local pid
  if pid=$(slurmctld_pid); then enter head kill "$pid" 2> /dev/null || true; fi
  wait_until 'slurmctld to save its state and end' "$dir/slurm/log/slurmctld.log" slurmctld_ended
}

start_node() {
  local log
  log=$dir/slurm/log/slurmd-$(name_of "$1").log
  start_space "$1"
  plug_in "$1"
  enter "$1" timeout 60 slurmd 2> "$log.start" || die "slurmd of $1 did not start" "$log.start" "$log"
}

start_nodes() {
  local i pid pids=() failed=0
  for (( i = 1; i <= nodes; i++ )); do
    start_node "n$i" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  (( ! failed )) || die 'not all nodes started'
}

node_state() { enter head timeout 5 sinfo -h -N -n "$(name_of "$1")" -o %t 2> /dev/null | head -n 1; }

all_idle() {
  local states
  states=$(enter head timeout 5 sinfo -h -N -o '%N %t' 2> /dev/null | sort -u) || return 1
  (( $(grep -c ' idle$' <<< "$states") == nodes ))
}

# "*" is "not responding" and stands behind any state, "~" and "#" belong to power saving.
node_is_back() { [[ $(node_state "$1") =~ ^(idle|alloc|mix|comp|drain|drng|resv|maint|plnd)$ ]]; }
