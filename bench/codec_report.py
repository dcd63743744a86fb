#!/usr/bin/env python3
"""The goals of the codecs and whether the figures that bench/codec.sh left in DIR keep them.

    bench/codec_report.py DIR

Reads DIR/TABLE.csv (`codec --csv`) for the tables word, tokens, skipgram, skipgram100, heavy,
uniform, outlier;
DIR/word_1e-6.csv and the like (--scale); DIR/TABLE.faiss.csv and DIR/learning.txt (codec_faiss.py).
What is not there is named and skipped. Prints Markdown; exit code 1 when a goal is missed.
"""
import csv
import pathlib
import sys

REAL = ("word", "tokens", "skipgram", "skipgram100")
ALIKE = ("heavy", "uniform")
missed = 0


def read(path):
    if not path.exists():
        return {}
    with open(path, newline="") as file:
        return {row["codec"]: row for row in csv.DictReader(file)}


def goal(words, figure, kept):
    global missed
    missed += not kept
    print(f"| {words} | {figure} | {'yes' if kept else '**no**'} |")


def main(work):
    tables = {path.stem: read(path) for path in sorted(work.glob("*.csv"))}
    error = lambda table, codec: float(tables[table][codec]["error"])
    real = [t for t in REAL if tables.get(t)]
    for table in (*REAL, *ALIKE, "outlier"):
        if not tables.get(table):
            print(f"codec_report: {table}: SKIPPED, {work}/{table}.csv is not there", file=sys.stderr)
    print("| goal | figure | kept |\n|---|---|---|")
    for table in real:
        for scaled in (table, f"{table}_1e-6", f"{table}_1e6"):
            if tables.get(scaled):
                e = error(scaled, "INT8")
                goal(f"INT8 rel. sq. error <= 5e-5, {scaled}", f"{e:.2e}", e <= 5e-5)
    for table in real:
        l4, absmax = error(table, "L4"), error(table, "INT4 absmax (not EDO)")
        min_max = error(table, "INT4 min-max (not EDO)")
        goal(f"L4 <= 0.65 x INT4 absmax, {table}", f"{l4 / absmax:.3f}", l4 <= 0.65 * absmax)
        goal(f"L4 below INT4 min-max, {table}", f"{l4 / min_max:.3f}", l4 < min_max)
        p1 = float(tables[table]["L4"]["cosine_p1"])
        goal(f"L4 p1 cosine >= 0.990, {table}", f"{p1:.4f}", p1 >= 0.990)
        base, fine = error(table, "L4+4 base"), error(table, "L4+4")
        goal(f"L4+4 base <= 1.03 x L4, {table}", f"{base / l4:.3f}", base <= 1.03 * l4)
        goal(f"L4+4 <= 1.10 x INT8, {table}", f"{fine / error(table, 'INT8'):.3f}",
             fine <= 1.10 * error(table, "INT8"))
    for table in ALIKE:
        if tables.get(table):
            ratio = error(table, "P,L4") / error(table, "L4")
            goal(f"P,L4 <= 1.02 x L4 where columns are alike, {table}", f"{ratio:.3f}", ratio <= 1.02)
    for table, most in (("skipgram", 1 / 3), ("outlier", 1 / 10)):
        if tables.get(table):
            ratio = error(table, "P,L4") / error(table, "L4")
            goal(f"P,L4 <= {most:.3f} x L4, {table}", f"{ratio:.3f}", ratio <= most)
    for table, least in (("word", 0.93), ("skipgram", 0.94), ("skipgram100", 0.94)):
        if tables.get(table):
            row = two_bits(tables[table])
            p1 = float(row["cosine_p1"])
            goal(f"PQ at 2 bits, p1 cosine >= {least}, {table} ({row['codec']})", f"{p1:.4f}",
                 p1 >= least)
    for table in real:
        for codec, row in tables.get(f"{table}.faiss", {}).items():
            if codec not in tables[table]:
                continue
            ratio = error(table, codec) / float(row["error"])
            goal(f"{codec} error <= faiss's, {table}", f"{ratio:.3f}", ratio <= 1)
    learning = work / "learning.txt"
    if learning.exists():
        print_learning(learning.read_text().splitlines())
    for table in ("word", "skipgram100"):
        rows = tables.get(table)
        if not rows or next(iter(rows.values()))["dim"] != "100":
            continue
        for codec, most in (("INT8", 1.3), ("L4", 1.5), ("P,L4", 1.5), ("PQ25x8", 2.5)):
            ratio = float(rows[codec]["memory_x_int8"])
            goal(f"{codec} from memory <= {most} x INT8 by hand, {table}",
                 f"{ratio:.2f} ({rows[codec]['memory_ns']} ns)", ratio <= most)
    return 1 if missed else 0


def two_bits(rows):
    return next(row for name, row in rows.items()
                if name.startswith("PQ") and name.endswith("x8") and 1.9 < float(row["row_bits"]) < 2.3)


def print_learning(lines):
    seconds = {}  # threads: {who: seconds}
    for line in lines:
        who, _, _, threads, median, _ = line.rsplit(",", 5)
        seconds.setdefault(threads, {})["faiss" if who.startswith("faiss") else "edo"] = float(median)
    for threads, of in sorted(seconds.items()):
        if len(of) == 2:
            goal(f"PQ25x8 from 65,536 x 100 learned no slower than faiss, {threads} threads",
                 f"{of['edo']:.2f} s / {of['faiss']:.2f} s", of["edo"] <= of["faiss"])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1])))
