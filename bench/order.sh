#!/bin/sh
# Chunks that a batch of words reads under each order of rows, on a real text (bench/text_trace.py). The
# first half of the text makes the word table and is known to the orders; the later half is replayed:
# batches of 64 and of 1024 lines, without a cache and behind one of 5 % of the rows. Then the same from
# a table that was really imported in the order of the first half: its row `stored` must be the row
# `trace` of the first tables. Takes about ten minutes the first time (download, training).
# Usage: bench/order.sh [WORK_DIRECTORY] [EDO_COMMAND]
set -eu
cd "$(dirname "$0")/.."
work=${1:-build/order_bench}
edo=${2:-build/release/tools/edo}
mkdir -p "$work"
python3 bench/text_trace.py "$work"
rm -rf "$work/store"
"$edo" import "$work/words.vec" --store "$work/store" --table file --codec INT8 -q
"$edo" import "$work/words.vec" --store "$work/store" --table trace --codec INT8 -q \
  --order "trace:$work/first.txt"
"$edo" verify --store "$work/store"
for table in file trace; do
  for lines in 64 1024; do
    printf '\nbatches of %s lines, table stored in order %s\n' "$lines" "$table"
    "$edo" advise --store "$work/store" --table "$table" --order "$work/trace.txt" \
      --batch-lines "$lines" --json -q | python3 -c '
import json, sys
advice = json.load(sys.stdin)["order"]
hash_order = next(o for o in advice["orders"] if o["order"] == "hash")
print("%d batches of %.1f distinct rows; %.1f of them missed by a cache of %d rows" % (
    advice["batches"], advice["rows_a_batch"], advice["missed_rows_a_batch"], advice["cache_rows"]))
print("%-8s %18s %8s %18s %8s" % ("order", "chunks, no cache", "saved x", "chunks, cached", "fewer"))
for o in advice["orders"]:
    print("%-8s %18.2f %8.2f %18.2f %6.1f %%" % (
        o["order"], o["chunk_reads"], hash_order["chunk_reads"] / o["chunk_reads"],
        o["cached_reads"], 100 - 100 * o["cached_reads"] / hash_order["cached_reads"]))
print("best:", advice["best"])'
  done
done
for format in word2vec npy; do  # an order shows in no export
  for table in file trace; do
    "$edo" export "$work/$table.$format" --store "$work/store" --table "$table" --to "$format" -q --force
  done
  cmp "$work/file.$format" "$work/trace.$format"
done
printf '\nexports of both tables are equal\n'
