#!/bin/sh
# One command from sources to tables: builds the benchmarks, measures cold reads, reading ahead and
# bulk lookups, and writes machine, commands, tables and a plot into docs/benchmarks.md (between its
# two report: comments) and docs/reading_ahead.png. About ten minutes behind the build; needs no
# root, 3 GB of disk, and a disk (not memory) at DIR. The order of rows has a benchmark of its own,
# bench/order.sh, which takes longer: its tables are included where its result is at hand.
# Usage: bench/report.sh [--install] [--order] [--rows=N] [--rounds=N] [--dir=DIR]
#   --install  installs gnuplot-nox (apt-get, by sudo where needed) when it is missing
#   --order    runs bench/order.sh, too
set -eu
cd "$(dirname "$0")/.."
install=no order=no rows=4000000 rounds=9 dir=build/report_bench build=build/release
for argument; do
  case $argument in
    --install) install=yes ;;
    --order) order=yes ;;
    --rows=*) rows=${argument#*=} ;;
    --rounds=*) rounds=${argument#*=} ;;
    --dir=*) dir=${argument#*=} ;;
    *)
      sed -n '2,/^set/{/^#/s/^# \{0,1\}//p;}' "$0"
      exit 2
      ;;
  esac
done
for tool in cmake ninja c++ python3; do
  command -v $tool >/dev/null || { echo "missing: $tool (scripts/install-deps.sh)"; exit 1; }
done
if ! command -v gnuplot >/dev/null; then
  if [ $install = yes ]; then
    $([ "$(id -u)" = 0 ] || echo sudo) apt-get install -y gnuplot-nox
  else
    echo "missing: gnuplot, so there will be no new plot (--install installs gnuplot-nox)"
  fi
fi

[ -e $build/CMakeCache.txt ] || cmake --preset release -DEDO_CUDA=OFF -DEDO_BUILD_TESTS=OFF
cmake --build $build --target store_bench cache_bench
# Before other work on the machine, where that is allowed.
first=
if chrt -r 10 true 2>/dev/null; then first="chrt -r 10"; fi
mkdir -p "$dir"
measure() { # NAME SECONDS: into $dir/NAME.csv, the command into $dir/NAME.command
  set -- "$1" $first $build/bench/store_bench "--workloads=$1" "--rows=$rows" \
    "--rounds=$rounds" "--seconds=$2"
  name=$1
  shift
  echo "$*" >"$dir/$name.command"
  "$@" "--dir=$dir/work" --keep "--csv=$dir/$name.csv"
}
measure lookupcold 0.3
measure prefetch 0.5
measure bulk 0.5
rm -rf "$dir/work"

result=build/order_bench/result.txt
if [ $order = yes ]; then
  cmake --build $build --target edo_command
  mkdir -p build/order_bench
  bench/order.sh build/order_bench $build/tools/edo >$result.new && mv $result.new $result
fi
if [ -e $result ]; then
  cp $result "$dir/order.txt"
else
  rm -f "$dir/order.txt"
  echo "order of rows: not measured; bench/report.sh --order, or bench/order.sh >$result"
fi
python3 bench/report_tables.py "$dir" docs
