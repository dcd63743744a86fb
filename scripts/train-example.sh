#!/bin/sh
# Trains a small word table from the Linux manual pages, a text that every Debian machine can have:
# 14 thousand words, 100 values each. Usage: train-example.sh OUTPUT.vec
set -eu
output=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "training a word table from the manual pages (manpages, manpages-dev) with fasttext ..."
# The pages are taken from the packages: minimal systems do not install documentation.
(cd "$work" && apt-get download -q manpages manpages-dev >download.log 2>&1) ||
  { cat "$work/download.log" >&2; exit 1; }
for deb in "$work"/*.deb; do dpkg-deb -x "$deb" "$work/pages"; done
find "$work/pages" -path '*/man/man*' -name '*.gz' -print0 | LC_ALL=C sort -z | xargs -0 zcat |
  sed -e 's/^\.[A-Za-z\\"]*//' -e 's/\\f[A-Z]//g' -e 's/[^A-Za-z_]/ /g' |
  tr 'A-Z' 'a-z' >"$work/text"
fasttext skipgram -input "$work/text" -output "$work/table" -dim 100 -minCount 5 -epoch 2 \
  -minn 0 -maxn 0 -lr 0.1 -thread "$(nproc)" -verbose 0
mv "$work/table.vec" "$output"
