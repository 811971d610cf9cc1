# space.sh — one machine of the cluster as a set of namespaces: make, enter, kill. Sourced by cluster.
# shellcheck shell=bash
# shellcheck disable=SC2154  # dir, self and safe_path are set by the file that sources this one
#
# A space is kept by an `unshare` process, the keeper, whose pid is recorded. Killing the keeper kills
# pid 1 of the space, and with it every process, mount and network interface in there. That is the
# clean-up, and it is the power failure.

pid_folder=pids  # of DIR/slurm; take_down closes it by renaming, then nothing can start any more

start_time() {  # clock ticks at which process $1 began: tells it from a later one with its number
  local stat
  stat=$(cat "/proc/$1/stat" 2> /dev/null) || return 1
  read -ra stat <<< "${stat##*) }"
  [[ ${stat[0]} != Z ]] || return 1
  echo "${stat[19]}"
}

# Prints the keeper's pid; fails if that process is gone.
keeper_of() {
  local pid began
  read -r pid began 2> /dev/null < "$dir/slurm/$pid_folder/$1" || return 1
  [[ $(start_time "$pid") == "$began" ]] || return 1
  echo "$pid"
}

enter() {  # enter NAME CMD...: CMD as root with a clean environment inside NAME
  local pid
  pid=$(keeper_of "$1") || die "$1 is not running"
  # The keeper itself stands outside the pid namespace that it made, hence pid_for_children.
  env -i PATH="$safe_path" nsenter --target "$pid" --mount --net --uts --ipc \
    --pid="/proc/$pid/ns/pid_for_children" -- "${@:2}"
}

# --- making one; __keep and __boot run in processes of their own ---------------------------------

apart() {  # LOG CMD...: our own CMD in a process that has nothing of the caller's
  (
    # Nothing may stay open: who reads the caller's pipe would wait for ever.
    exec < /dev/null > "$1" 2>&1
    for fd in /proc/self/fd/*; do
      fd=${fd##*/}
      (( fd < 3 )) || eval "exec $fd>&-"
    done
    # A session of its own: Ctrl-C on the terminal is not for the cluster.
    exec setsid env -i PATH="$safe_path" bash "$self" "${@:2}"
  ) &
  disown
}

start_space() {
  rm -f "$dir/slurm/ready/$1"
  apart "$dir/slurm/log/space-$1.log" __keep "$dir" "$1"
  wait_until "$1 to boot" "$dir/slurm/log/space-$1.log" test -e "$dir/slurm/ready/$1"
}

keep_space() {
  local began
  began=$(start_time $$)
  echo "$$ $began" > "$dir/slurm/pids/.$1"
  mv "$dir/slurm/pids/.$1" "$dir/slurm/pids/$1"
  exec unshare --fork --kill-child --pid --mount-proc --mount --net --uts --ipc \
    bash "$self" __boot "$dir" "$1"
}

boot_space() {
  local stage=$dir/slurm/stage file
  hostname "$(name_of "$1")"
  ip link set lo up
  mount -t tmpfs -o mode=755 stage "$stage"
  new_sys "$stage"
  if [[ $1 != head ]]; then
    new_dev "$stage" "${node_gpus[${1#n}]}"
    new_tmp "$stage"
  else
    show_shares
  fi
  for file in passwd group hosts resolv.conf; do
    [[ ! -e $dir/slurm/etc/$file || ! -e /etc/$file ]] ||
      mount --bind "$dir/slurm/etc/$file" "/etc/$file"
  done
  mount --bind "$dir/slurm" /etc/slurm
  [[ $1 == head || ! -e /etc/slurm/cgroups ]] || new_cgroups "$1"
  cd /
  : > "/etc/slurm/ready/$1"
  # Pid 1 has one duty, to reap orphans; bash does so while it waits.
  exec -a "cluster-$1 $dir" bash -c 'while :; do sleep 3600 & wait; done'
}

new_sys() {  # so that /sys/class/net shows this space's interfaces
  mkdir "$1/sys"
  mount -t sysfs sysfs "$1/sys"
  [[ ! -d /sys/fs/cgroup ]] || mount --rbind /sys/fs/cgroup "$1/sys/fs/cgroup"
  mount --rbind "$1/sys" /sys
}

new_cgroups() {  # the node's own part of the machine's freezer, for proctrack/cgroup
  local own
  own=/mnt/$(< /etc/slurm/cgroups)/$1
  mount -t cgroup -o freezer freezer /mnt
  mkdir -p "$own"
  mount --bind "$own" /etc/slurm/cgroup/freezer
  umount /mnt
}

new_dev() {  # a /dev with its own shared memory and $2 GPUs that exist in name only
  local dev=$1/dev name i
  mkdir -p "$dev"/{shm,pts}
  for name in null zero full random urandom tty ptmx; do
    : > "$dev/$name"
    mount --bind "/dev/$name" "$dev/$name"
  done
  mount --rbind /dev/pts "$dev/pts"  # the caller's terminal keeps its name
  mount -t tmpfs -o mode=1777 shm "$dev/shm"
  ln -s /proc/self/fd "$dev/fd"
  ln -s fd/0 "$dev/stdin"
  ln -s fd/1 "$dev/stdout"
  ln -s fd/2 "$dev/stderr"
  for (( i = 0; i < $2; i++ )); do mknod -m 666 "$dev/nvidia$i" c 195 "$i"; done
  mount --rbind "$dev" /dev
}

new_tmp() {  # a node's own /tmp, in which DIR, the --share folders and this checkout are where they were
  local path
  mkdir -m 1777 "$1/tmp"
  for path in "$dir" "${shares[@]}"; do
    [[ $path == /tmp/* ]] || continue
    mkdir -p "$1$path"
    mount --bind "$path" "$1$path"
  done
  mount --rbind "$1/tmp" /tmp
}

show_shares() {  # as mounts of their own in the /tmp of the login node: dllaunch warns of the rest of it
  local path
  for path in "$dir" "${shares[@]}"; do
    [[ $path != /tmp/* ]] || mount --bind "$path" "$path"
  done
}

# --- network: all of it inside the spaces, the machine's own sees nothing ------------------------

# The MAC address is fixed: a bridge's own is the lowest of its ports', and when that port went with its node, the
# others did not reach the head for 20 s.
plug_in_head() {
  enter head ip -batch - << 'END'
link add br0 address 02:00:0a:4d:ff:fe type bridge
addr add 10.77.0.254/16 dev br0
link set br0 up
END
}

# The MAC address is fixed, so that no ARP cache keeps the old one of a revived node.
plug_in() {
  local i=${1#n} head pid
  head=$(keeper_of head) || die 'head is not running'
  pid=$(keeper_of "$1") || die "$1 is not running"
  nsenter --target "$head" --net ip -batch - << END
link add veth-$1 type veth peer name eth0 address 02:00:0a:4d:$(printf %02x:%02x $((i / 256)) $((i % 256))) netns $pid
link set veth-$1 master br0 up
END
  nsenter --target "$pid" --net ip -batch - << END
addr add $(address_of "$i")/16 dev eth0
link set eth0 up
END
}

# --- the end of one ------------------------------------------------------------------------------

gone() { ! start_time "$1" > /dev/null; }

in_freezer() {  # CMD...: in the root of the machine's freezer, which no other process sees mounted there
  # shellcheck disable=SC2016
  unshare --mount sh -c 'mount -t cgroup -o freezer freezer /mnt && cd /mnt && exec "$@"' sh "$@"
}

thaw() {  # a process of a suspended job dies of KILL only then
  # shellcheck disable=SC2016
  [[ ! -e $dir/slurm/cgroups ]] ||
    in_freezer find "$(< "$dir/slurm/cgroups")/$1" -name freezer.state -exec sh -c 'echo THAWED > "$0"' {} \; \
      2> /dev/null || true
}

remove_cgroups() {  # of a node; without a name, of the cluster
  [[ ! -e $dir/slurm/cgroups ]] ||
    in_freezer find "$(< "$dir/slurm/cgroups")/${1-}" -type d -delete 2> /dev/null || true
}

kill_space() {
  local pid init
  if pid=$(keeper_of "$1"); then
    # Init ends only when everything in the space has; the keeper goes before.
    init=$(cat "/proc/$pid/task/$pid/children" 2> /dev/null) || true
    init=${init%% *}
    kill -KILL "$pid" 2> /dev/null || true
    thaw "$1"
    wait_until "$1 to die" '' gone "$pid"
    wait_until "processes of $1 to die" '' gone "${init:-$pid}"
  fi
  remove_cgroups "$1"
  rm -f "$dir/slurm/$pid_folder/$1" "$dir/slurm/ready/$1"
}
