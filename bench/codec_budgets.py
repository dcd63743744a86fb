#!/usr/bin/env python3
"""Whether `edo import --codec auto` keeps its budgets, and how near it comes to the smallest codec.

    bench/codec_budgets.py EDO FILE EVERY.csv [IMPORT_ARGUMENT ...]

Imports FILE with each of a grid of budgets, checks every row of the table with `edo analyze`, and
compares its bytes (rows and what was learned) with those of the best codec of EVERY.csv, which
`codec FILE --every-width --all-rows --untimed --csv=EVERY.csv` has written. Prints a Markdown table;
exit code 1 when a budget was broken or bytes are more than 3 % above the best.
"""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

# Option, where, value, figure in the CSV, whether more is better.
BUDGETS = [
    ("--min-cosine", "p1", value, "cosine_p1", True) for value in (0.999, 0.99, 0.97, 0.9)
] + [
    ("--max-rel-error", "mean", value, "error", False) for value in (1e-3, 0.01, 0.05, 0.2)
]


def bytes_of(row):
    return int(row["row_bytes"]) * int(row["rows"]) + int(row["learned_bytes"])


def main(edo, path, every, extra):
    with open(every, newline="") as file:
        trials = [row for row in csv.DictReader(file)
                  if not row["codec"].endswith((" base", "(not EDO)"))]
    by_name = {row["codec"]: row for row in trials}
    print("| budget | chosen | kept on all rows | bytes | best of every width | bytes | more |")
    print("|---|---|---|---|---|---|---|")
    good = True
    for option, at, value, figure, more in BUDGETS:
        limit = [option, repr(value), "--at", at]
        keeping = [row for row in trials
                   if (float(row[figure]) >= value if more else float(row[figure]) <= value)]
        best = min(keeping, key=bytes_of)
        with tempfile.TemporaryDirectory() as work:
            store = pathlib.Path(work) / "store"
            done = subprocess.run([edo, "import", path, "--store", store, "--table", "t", "--codec",
                                   "auto", *limit, *extra, "--json", "-q"], capture_output=True,
                                  text=True)
            if done.returncode != 0:
                print(f"| {option} {value} at {at} | none: {done.stderr.strip()} | | | "
                      f"{best['codec']} | {bytes_of(best)} | |")
                good = False
                continue
            chosen = json.loads(done.stdout)["table"]["codec"]
            against = [a for a in extra if not a.startswith("--key")]
            check = subprocess.run([edo, "analyze", "--store", store, "--table", "t",
                                    "--against", path, "--overlap-rows", "0", *limit, *against, "-q"],
                                   capture_output=True, text=True)
        kept = check.returncode == 0
        row = by_name.get(chosen)
        size = bytes_of(row) if row else 0
        above = size / bytes_of(best) - 1
        good = good and kept and row is not None and above <= 0.03
        print(f"| {option} {value} at {at} | {chosen} | {'yes' if kept else 'NO: ' + check.stderr.strip()} "
              f"| {size} | {best['codec']} | {bytes_of(best)} | {100 * above:+.1f} % |", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
