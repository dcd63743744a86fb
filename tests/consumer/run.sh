#!/bin/sh
# Installs the built library into a folder of its own and builds and runs a foreign project with it.
# Usage: run.sh BUILD_DIRECTORY SOURCE_DIRECTORY
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$1" --prefix "$work/prefix" >"$work/install.log"
cmake -S "$2/tests/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_BUILD_TYPE=Release >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/build"
"$work/build/consumer" "$work/store"
test -s "$work/store.npy"
