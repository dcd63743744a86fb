#!/bin/sh
# Serves a store from a process that may use a fifth of the store's size as memory, page cache
# included: a control group of its own (version 2, or 1 where that has the memory controller), or
# systemd's. Every row that comes back is compared. Exits 77, with the reason, where no such limit
# can be set.
# Usage: small_memory.sh PROGRAM      (tests/engine/small_memory.cc), in a directory on a disk
set -eu
program=$1
limit_mib=96
rows=4000000 # 128 bytes each: five times the limit
work=$(mktemp -d "$PWD/small_memory.XXXXXX")
group=
scope="--scope --quiet --collect -p MemoryMax=${limit_mib}M -p MemorySwapMax=0"
clean() {
  [ -z "$group" ] || rmdir "$group" 2>/dev/null || true
  rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM
skip() {
  echo "SKIPPED: $1"
  exit 77
}

case $(stat -f -c %T "$work") in
  tmpfs | ramfs) skip "$work lies in memory; the store would count as used" ;;
esac
[ "$(df -Pk "$work" | awk 'NR == 2 { print $4 }')" -gt 1500000 ] || skip "less than 1.5 GB of disk"

# A group below or beside our own one, with the limit set; its path in $group.
make_group() { # DIRECTORY LIMIT_FILE
  group=$1/edo_small_memory.$$
  mkdir "$group" 2>/dev/null || { group=; return 1; }
  if [ -w "$group/$2" ] && echo $((limit_mib << 20)) 2>/dev/null >"$group/$2"; then
    echo 0 2>/dev/null >"$group/memory.swap.max" || true
    return 0
  fi
  rmdir "$group"
  group=
  return 1
}
own_v2=$(sed -n 's/^0:://p' /proc/self/cgroup)
own_v1=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
mount_v2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
mount_v1=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/mounts)
run=
# Version 2 gives limits only to children of a group without processes of its own: ours has one, so
# the place is beside it, unless ours is the root.
if [ -n "$mount_v2" ] && { make_group "$mount_v2$own_v2" memory.max ||
  make_group "$mount_v2$(dirname "$own_v2")" memory.max; }; then
  run=group peak=memory.peak
elif [ -n "$mount_v1" ] && make_group "$mount_v1$own_v1" memory.limit_in_bytes; then
  run=group peak=memory.max_usage_in_bytes
elif command -v systemd-run >/dev/null && systemd-run $scope true 2>/dev/null; then
  run="systemd-run $scope"
elif command -v systemd-run >/dev/null && systemd-run --user $scope true 2>/dev/null; then
  run="systemd-run --user $scope"
else
  skip "no control group with a memory limit can be made here (not writable), nor systemd-run used"
fi

"$program" build "$work/store" "$rows"
echo "a limit of $limit_mib MiB (${group:-$run})"
code=0
if [ "$run" = group ]; then
  # Inside a shell of its own, which moves itself there and becomes the program.
  sh -c 'echo $$ >"$0/cgroup.procs" && exec "$1" serve "$2"' "$group" "$program" "$work/store" ||
    code=$?
  if [ -r "$group/$peak" ]; then
    used=$(cat "$group/$peak")
    echo "most memory used, page cache included: $((used >> 20)) MiB"
    [ "$used" -gt 0 ] || { echo "nothing was charged to the group: the limit did not hold"; exit 1; }
  fi
else
  $run "$program" serve "$work/store" || code=$?
fi
[ "$code" -ne 137 ] || echo "killed: it needed more than $limit_mib MiB"
exit "$code"
