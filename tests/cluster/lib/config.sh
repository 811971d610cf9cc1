# config.sh — what `up` was asked for, and the files Slurm reads. Sourced by cluster.
# shellcheck shell=bash
# shellcheck disable=SC2154  # dir is set by the file that sources this one

# Node i is called n<i>, or as `names` says by Slurm and in it; index 0 of the arrays stays unused.
nodes=2 names=n%d cpus=2 sockets=1 gpus=0 gpu_type='' task_plugin='' accounting=no owner='' cgroups=''
node_cpus=() node_sockets=() node_gpus=() node_type=() node_feature=()
odd_nodes=() partitions=() conf_lines=() topology_lines=() users=() shares=()

# What a later verb has to know again, e.g. how many GPUs a revived node has.
save_settings() {
  # With -g, because functions read it: what they declare would be their own.
  declare -p nodes names node_gpus shares accounting users | sed 's/^declare /declare -g /' > "$dir/slurm/settings"
}

# --odd-node n3:cpus=8,gpus=4  ->  the arrays of node 3
apply_odd_node() {
  local name=${1%%:*} list=${1#*:} index pair pairs
  index=${name#n}
  [[ $1 == *:* && $name == n* && $index =~ ^[1-9][0-9]*$ && $index -le $nodes ]] ||
    usage_error "--odd-node $1: want n1..n$nodes, a colon, then cpus=N,gpus=N,..."
  IFS=, read -ra pairs <<< "$list"
  for pair in "${pairs[@]}"; do
    case $pair in
      cpus=*) node_cpus[index]=${pair#*=} ;;
      gpus=*) node_gpus[index]=${pair#*=} ;;
      sockets=*) node_sockets[index]=${pair#*=} ;;
      gpu-type=*) node_type[index]=${pair#*=} ;;
      feature=*) node_feature[index]=${pair#*=} ;;
      *) usage_error "--odd-node: unknown key '$pair' (cpus, gpus, sockets, gpu-type, feature)" ;;
    esac
  done
}

check_node() {
  local i=$1 value
  for value in "${node_cpus[i]}" "${node_sockets[i]}" "${node_gpus[i]}"; do
    [[ $value =~ ^(0|[1-9][0-9]*)$ ]] || usage_error "n$i: '$value' is not a number"
  done
  (( node_cpus[i] > 0 && node_sockets[i] > 0 && node_cpus[i] % node_sockets[i] == 0 )) ||
    usage_error "n$i: ${node_cpus[i]} CPUs do not divide into ${node_sockets[i]} sockets"
}

resolve_nodes() {
  local i odd most=0
  [[ $nodes =~ ^[1-9][0-9]*$ && $nodes -le 500 ]] ||
    usage_error "--nodes $nodes: want 1 to 500"
  for (( i = 1; i <= nodes; i++ )); do
    node_cpus[i]=$cpus node_sockets[i]=$sockets node_gpus[i]=$gpus
    node_type[i]=$gpu_type node_feature[i]=''
  done
  for odd in "${odd_nodes[@]}"; do apply_odd_node "$odd"; done
  for (( i = 1; i <= nodes; i++ )); do
    check_node "$i"
    (( node_cpus[i] <= most )) || most=${node_cpus[i]}
  done
  # task/affinity cannot bind to CPUs that do not exist, and fails the job; task/none ignores masks.
  if [[ -z $task_plugin ]]; then
    task_plugin=affinity
    (( most <= $(nproc --all) )) || task_plugin=none
  fi
}

slurm_release() {  # "22.05.8" -> 2205
  local version major minor
  version=$(slurmd -V)
  version=${version##* }
  IFS=. read -r major minor _ <<< "$version"
  echo "$((10#$major * 100 + 10#$minor))"
}

gpu_kinds() {  # NODE -> lines "COUNT FIRST TYPE"; "a100+v100" deals its GPUs out to both
  local type types first=0 left=${node_gpus[$1]} count
  IFS=+ read -r -a types <<< "${node_type[$1]}"
  (( ${#types[@]} > 0 )) || types=('')
  count=$(( left / ${#types[@]} ))
  for type in "${types[@]}"; do
    [[ $type != "${types[-1]}" ]] || count=$left
    echo "$count $first $type"
    first=$((first + count)) left=$((left - count))
  done
}

gres_of() {
  local count first type separator=''
  while read -r count first type; do
    printf '%sgpu:%s%s' "$separator" "${type:+$type:}" "$count"
    separator=,
  done < <(gpu_kinds "$1")
}

name_of() {  # SPACE: what Slurm calls it, and its host name
  # shellcheck disable=SC2059
  if [[ $1 == head ]]; then echo head; else printf "$names\n" "${1#n}"; fi
}

address_of() {  # of node I
  echo "10.77.$((($1 - 1) / 250)).$((($1 - 1) % 250 + 1))"
}

node_lines() {
  local i memory
  memory=$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo)
  for (( i = 1; i <= nodes; i++ )); do
    printf 'NodeName=%s NodeAddr=%s CPUs=%d Sockets=%d CoresPerSocket=%d' \
      "$(name_of "n$i")" "$(address_of "$i")" "${node_cpus[i]}" "${node_sockets[i]}" "$((node_cpus[i] / node_sockets[i]))"
    printf ' ThreadsPerCore=1 RealMemory=%d' "$memory"
    (( node_gpus[i] == 0 )) || printf ' Gres=%s' "$(gres_of "$i")"
    [[ -z ${node_feature[i]} ]] || printf ' Features=%s' "${node_feature[i]}"
    printf '\n'
  done
}

gres_lines() {
  local i count first last type
  echo '# fake devices'  # Slurm grumbles at an empty file
  for (( i = 1; i <= nodes; i++ )); do
    (( node_gpus[i] > 0 )) || continue
    while read -r count first type; do
      last=$((first + count - 1))
      printf 'NodeName=%s Name=gpu%s File=/dev/nvidia%s\n' "$(name_of "n$i")" "${type:+ Type=$type}" \
        "$( ((last == first)) && echo "$first" || echo "[$first-$last]")"
    done < <(gpu_kinds "$i")
  done
}

partition_lines() {
  local line first=' Default=YES' extra
  if (( ${#partitions[@]} == 0 )); then
    partitions=("batch PriorityTier=1" "high PriorityTier=10 PreemptMode=OFF")
  fi
  for line in "${partitions[@]}"; do
    extra=''
    [[ ${line,,} == *' nodes='* ]] || extra+=' Nodes=ALL'
    [[ ${line,,} == *' default='* ]] || extra+=$first
    first=''
    echo "PartitionName=$line$extra"
  done
}

# Times are short because tests wait for them. cred_expire: a requeued job may not start again
# before cred_expire + 1 s, 120 s by default. bf_interval: who notices that this time has come.
base_lines() {
  cat <<END
ClusterName=cluster
SlurmctldHost=head(10.77.0.254)
SlurmUser=slurm
AuthType=auth/munge
AuthInfo=socket=/etc/slurm/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=/etc/slurm/state
SlurmdSpoolDir=/etc/slurm/spool/%n
SlurmctldPidFile=/etc/slurm/state/slurmctld.pid
SlurmdPidFile=/etc/slurm/spool/%n/slurmd.pid
SlurmctldLogFile=/etc/slurm/log/slurmctld.log
SlurmdLogFile=/etc/slurm/log/slurmd-%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/$task_plugin
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobCompType=jobcomp/filetxt
JobCompLoc=/etc/slurm/log/jobcomp.log
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
GresTypes=gpu
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
SlurmctldTimeout=10
MessageTimeout=5
TCPTimeout=2
KillWait=5
InactiveLimit=0
EnforcePartLimits=ALL
END
  [[ $accounting == no ]] || cat <<END
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePass=/etc/slurm/munge/socket
AccountingStorageTRES=gres/gpu
END
}

# The plugin that the lines of topology.conf are for.
topology_plugin() {
  local lines="${topology_lines[*]}"
  if [[ $lines == *BlockName=* ]]; then echo block; else echo tree; fi
}

# A key given twice makes every Slurm command complain, so --conf replaces our line of that key.
slurm_conf() {
  base_lines | awk -v given="$(printf '%s\n' "${conf_lines[@]}")" '
    BEGIN { n = split(given, lines, "\n")
            for (i = 1; i <= n; i++) { split(lines[i], kv, "="); replaced[tolower(kv[1])] = 1 } }
    { split($0, kv, "="); if (!(tolower(kv[1]) in replaced)) print }'
  (( ${#conf_lines[@]} == 0 )) || printf '%s\n' "${conf_lines[@]}"
  (( ${#topology_lines[@]} == 0 )) || echo "TopologyPlugin=topology/$(topology_plugin)"
  node_lines
  partition_lines
}

slurmdbd_conf() {
  cat <<END
AuthType=auth/munge
AuthInfo=socket=/etc/slurm/munge/socket
DbdHost=localhost
SlurmUser=slurm
LogFile=/etc/slurm/log/slurmdbd.log
PidFile=/etc/slurm/state/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StorageUser=slurm
StorageLoc=slurm_acct_db
END
}

# With proctrack/cgroup, whose folders are called after nodes: each node has its own part of the freezer.
cgroup_lines() {
  if [[ -n $cgroups ]]; then
    mkdir -p "$dir/slurm/cgroup/freezer"
    echo "$cgroups" > "$dir/slurm/cgroups"
    printf 'CgroupPlugin=cgroup/v1\nCgroupMountpoint=/etc/slurm/cgroup\n'
  else
    echo '# no cgroups'
    (( $(slurm_release) < 2311 )) || echo 'CgroupPlugin=disabled'
  fi
}

hosts_file() {
  local i
  printf '127.0.0.1 localhost\n10.77.0.254 head\n'
  for (( i = 1; i <= nodes; i++ )); do echo "$(address_of "$i") $(name_of "n$i")"; done
}

# Users that exist only in here: ids from 60101, home DIR/home/NAME (shared by all nodes).
add_users() {
  local etc=$dir/slurm/etc name id=60100
  cp /etc/passwd /etc/group "$etc/"
  for name in "${users[@]}"; do
    id=$((id + 1))
    getent passwd "$name" > /dev/null && continue
    echo "$name:x:$id:$id:$name:$dir/home/$name:/bin/bash" >> "$etc/passwd"
    echo "$name:x:$id:" >> "$etc/group"
    mkdir -p "$dir/home/$name"
    chown "$id:$id" "$dir/home/$name"
    chmod 755 "$dir" "$dir/home"
    setpriv --reuid "$id" --regid "$id" --clear-groups test -x "$dir/home/$name" ||
      die "$name cannot reach $dir/home/$name: a parent folder is closed to others (chmod o+x)"
  done
}

write_config() {
  local slurm=$dir/slurm i
  mkdir -p "$slurm"/{etc,munge,state,spool,log,pids,ready,stage}
  chmod 755 "$slurm" "$slurm"/*
  for (( i = 1; i <= nodes; i++ )); do mkdir -p "$slurm/spool/$(name_of "n$i")"; done
  hosts_file > "$slurm/etc/hosts"
  : > "$slurm/etc/resolv.conf"  # empty: an unreachable name server would stall every look-up
  add_users
  slurm_conf > "$slurm/slurm.conf"
  (( ${#topology_lines[@]} == 0 )) || printf '%s\n' "${topology_lines[@]}" > "$slurm/topology.conf"
  gres_lines > "$slurm/gres.conf"
  cgroup_lines > "$slurm/cgroup.conf"
  : > "$slurm/log/jobcomp.log"
  chown -R slurm: "$slurm/state" "$slurm/log"
  if [[ $accounting == yes ]]; then
    slurmdbd_conf > "$slurm/slurmdbd.conf"
    chmod 600 "$slurm/slurmdbd.conf"
    chown slurm: "$slurm/slurmdbd.conf"
  fi
}
