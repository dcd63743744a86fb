#!/bin/sh
# Installs, builds, and does the main job on a real table: import, look at it, look rows up, verify,
# export.
#   scripts/try.sh              a word table trained here from the Linux manual pages
#   scripts/try.sh FILE         your file: word2vec, GloVe, fastText .vec, .npy, safetensors, CSV, ...
# Everything it makes lies in build/try/.
set -eu
cd "$(dirname "$0")/.."
input="${1:-}"
case "$input" in "" | /*) ;; *) input="$OLDPWD/$input" ;; esac
if [ -n "$input" ] && [ ! -e "$input" ]; then
  echo "try: '$input' does not exist" >&2
  exit 1
fi

if [ -n "$input" ]; then scripts/install-deps.sh; else scripts/install-deps.sh --with-example; fi
mkdir -p build/try
quietly() {  # says nothing, or everything when it fails
  "$@" >build/try/build.log 2>&1 || { cat build/try/build.log >&2; exit 1; }
}
echo "building (a few minutes the first time; log: build/try/build.log) ..."
# The command runs on the CPU; the GPU code of the library would take minutes to compile.
quietly cmake --preset release -DEDO_CUDA=OFF -DEDO_BUILD_TESTS=OFF -DEDO_BUILD_BENCH=OFF -B build/try/build
quietly cmake --build build/try/build
edo=build/try/build/tools/edo

if [ -z "$input" ]; then
  input=build/try/manpages.vec
  [ -e "$input" ] || scripts/train-example.sh "$input"
fi
store=build/try/store
say() { printf '\n$ %s\n' "$*"; "$@"; }

say "$edo" import "$input" --store "$store" --table example --codec INT8 --force
say "$edo" info --store "$store" --table example
# A word that the example surely has; of your own table, the key of row 100 (or of the first row).
word=socket
if [ -n "${1:-}" ]; then
  word=$("$edo" export --store "$store" --table example - --to tsv -q |
    awk -F '\t' 'NR == 1 { first = $1 } NR == 101 { print $1; found = 1; exit }
                 END { if (!found) print first }')
fi
say "$edo" nn --store "$store" --table example -k 5 -- "$word"
echo; echo "\$ $edo get --store $store --table example -- $word   (its first values)"
"$edo" get --store "$store" --table example -- "$word" | cut -f 1-6
say "$edo" verify --store "$store"
say "$edo" export --store "$store" --table example build/try/example.npy --force
printf '\nsizes: input %s bytes, store %s bytes, exported .npy %s bytes\n' \
  "$(stat -Lc %s "$input" 2>/dev/null || echo '?')" \
  "$(cat "$store"/*.sst | wc -c)" "$(stat -c %s build/try/example.npy)"
echo "the command is $edo; try: $edo --help"
