# debian.sh — a bare Debian, in which tests of the bundle run. Sourced by them.
# shellcheck shell=bash

skip() {
  echo "${0##*/}: $1"
  exit 77
}

# need FILE: skips the test where it cannot run, or where there is no bundle.
need() {
  [ "${DLLAUNCH_TEST_FULL:-}" = 1 ] || skip 'DLLAUNCH_TEST_FULL=1 tests the bundle'
  [ "$(id -u)" -eq 0 ] || skip 'only root makes a Debian and enters it'
  command -v debootstrap >/dev/null || skip 'needs debootstrap'
  [ -d /usr/share/datasets/fashion-mnist ] || skip 'needs dataset-fashion-mnist'
  unshare --mount true 2>/dev/null || skip 'this machine has no mount namespaces'
  [ -e "$1" ] || skip "no $1: scripts/bundle makes it"
}

# make_debian CACHE SUITE: sets `debian` to a folder with the suite's smallest system, made once.
make_debian() {
  debian=$1/$2
  if [ ! -e "$debian/.complete" ]; then
    rm -rf -- "$debian"
    mkdir -p -- "$1"
    debootstrap --variant=minbase "$2" "$debian" >"$1/$2.log" 2>&1 ||
      skip "debootstrap $2 failed: $(tail -n 1 "$1/$2.log")"
    touch "$debian/.complete"
  fi
  # debootstrap leaves that to an installer.
  echo '127.0.0.1 localhost' >"$debian/etc/hosts"
}

# add_packages NAME PACKAGE...: sets `debian` to a copy of it with packages of its suite, made once.
add_packages() {
  local with=$debian-$1
  shift
  if [ ! -e "$with/.complete" ]; then
    rm -rf -- "$with"
    cp -a -- "$debian" "$with"
    rm "$with/.complete"
    printf '#!/bin/sh\nexit 101\n' >"$with/usr/sbin/policy-rc.d" # their daemons do not start
    chmod +x "$with/usr/sbin/policy-rc.d"
    cp /etc/resolv.conf "$with/etc/"
    debian=$with
    enter_debian : /usr/bin/env DEBIAN_FRONTEND=noninteractive sh -euc '
      apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"' sh "$@" >"$with.log" 2>&1 ||
      skip "cannot install $*: $(tail -n 1 "$with.log")"
    touch "$with/.complete"
  fi
  debian=$with
}

# unpack_bundle FILE: makes `work`, for this test, with "the bundle" and an empty home/.
unpack_bundle() {
  work=$(mktemp -d)
  trap 'rm -rf -- "$work"' EXIT
  mkdir -p "$work/the bundle" "$work/home"
  tar -xzf "$1" -C "$work/the bundle" --strip-components=1 --no-same-owner
}

# enter_debian MOUNT COMMAND...: runs it as root in the Debian; mounts made there vanish with it. MOUNT is a command
# that sees the Debian's folder as $debian and mounts more there.
enter_debian() {
  # shellcheck disable=SC2016  # for the inner shell
  unshare --mount --pid --fork --kill-child bash -euc '
    debian=$1
    mount --bind "$debian" "$debian"
    mount -t tmpfs tmpfs "$debian/mnt"
    mount -t tmpfs tmpfs "$debian/opt"
    mount -t tmpfs -o mode=1777 tmpfs "$debian/tmp"
    mount -t proc proc "$debian/proc"
    mount --rbind /sys "$debian/sys"
    mount --rbind /dev "$debian/dev"
    eval "$2"
    mkdir -p "$debian/mnt/old"
    cd "$debian"
    pivot_root . mnt/old
    umount -l mnt/old
    exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "${@:3}"' "$0" "$debian" "$@"
}

# with_bundle COMMAND...: as enter_debian; the bundle lies in "/opt/the bundle", read-only, and home/ in /mnt/home,
# which belongs to user 4711.
with_bundle() {
  chmod -R a+rX "$work"
  chown -R 4711:4711 "$work/home"
  export work
  # shellcheck disable=SC2016  # for the inner shell
  enter_debian '
    mkdir "$debian/opt/the bundle" "$debian/mnt/home"
    mount --bind "$work/the bundle" "$debian/opt/the bundle"
    mount -o remount,bind,ro "$debian/opt/the bundle"
    mount --bind "$work/home" "$debian/mnt/home"
    mkdir -p "$debian/usr/share/datasets"
    mount --bind /usr/share/datasets "$debian/usr/share/datasets"' "$@"
}
