#!/bin/sh
# Installs what EDO needs from the distribution's packages. Debian 12; Ubuntu 24.04 has the same
# names (untested there). Does nothing when everything is installed. As root, or with sudo.
#   --with-example   also what the example of scripts/try.sh trains its word table with
set -eu
packages="build-essential cmake ninja-build pkg-config ccache
  librocksdb-dev liburing-dev libzstd-dev zlib1g-dev libxxhash-dev
  libfast-float-dev nlohmann-json3-dev libboost-dev libcli11-dev scdoc
  libeigen3-dev libgtest-dev libgmock-dev libbenchmark-dev liblmdb-dev python3"
[ "${1:-}" = "--with-example" ] && packages="$packages fasttext"

missing=""
for p in $packages; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q "ok installed" || missing="$missing $p"
done
[ -z "$missing" ] && exit 0

sudo=""
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "install-deps: run as root, or install:$missing" >&2; exit 1; }
  sudo=sudo
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -q
# shellcheck disable=SC2086
$sudo apt-get install -y -q --no-install-recommends $missing
