#!/usr/bin/env python3
"""Makes bench/report.sh's tables and plot from what store_bench wrote with --csv.

Usage: report_tables.py DIRECTORY DOCS
DIRECTORY holds lookupcold.csv, prefetch.csv, bulk.csv, each with NAME.command, and perhaps
order.txt. Everything in DOCS/benchmarks.md between the two report: comments is replaced.
"""
import csv
import datetime
import os
import platform
import re
import shutil
import subprocess
import sys

BEGIN, END = "<!-- report:begin -->", "<!-- report:end -->"
PLOT = "reading_ahead.png"


def first_line(command):
    try:
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
        return (done.stdout.strip().splitlines() or ["unknown"])[0]
    except subprocess.CalledProcessError:
        return "unknown"


def machine(directory):
    cpu = first_line("sed -n 's/^model name.*: //p' /proc/cpuinfo")
    memory = int(first_line("awk '/MemTotal/ { print $2 }' /proc/meminfo") or 0) / 2**20
    source = first_line(f"df --output=source '{directory}' | tail -1")
    fs = first_line(f"df --output=fstype '{directory}' | tail -1")
    device = os.path.basename(source)
    model = first_line(f"cat /sys/block/{device}/device/model 2>/dev/null || echo '{device}'")
    return (f"{os.cpu_count()} cores of {cpu}, {memory:.0f} GiB; disk {model} ({source}), {fs}; "
            f"Linux {platform.release()}; {datetime.date.today()}")


def read(directory, name):
    with open(f"{directory}/{name}.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["value"], row["ratio"] = float(row["value"]), float(row["ratio"])
    with open(f"{directory}/{name}.command") as file:
        return rows, file.read().strip()


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head),
            *("| " + " | ".join(row) + " |" for row in rows), ""]


def left_out(rows):
    return [f"Left out: {r['variant']} ({r['remark']}).\n" for r in rows if r["unit"] == "left out"]


def cold(directory):
    rows, command = read(directory, "lookupcold")
    measured = [r for r in rows if r["unit"] == "krows/s"]
    body = [[r["variant"], f"{r['value']:.1f}", f"{r['ratio']:.2f}", r["remark"].split()[0]]
            for r in measured]
    return ["### Cold random rows", "", f"`{command}`", "",
            *table(["", "thousand rows a second", "x limit (first row)", "CPU us a row"], body),
            *left_out(rows)], measured


class Loops:
    """Figures of the prefetch workload by name of the loop."""

    def __init__(self, rows):
        self.rows = {r["variant"]: r for r in rows}

    def get(self, loop, ratio, figure):
        how = "" if ratio == 0 else loop[1]
        name = f"{loop[0]}{how}, compute / read {ratio:.2f}: {figure}"
        return self.rows.get(name)

    def ratios(self, depth):
        found = {float(m.group(1)) for name in self.rows
                 if (m := re.match(depth + r".*compute / read ([0-9.]+): rate", name))}
        return sorted(found)


SLEEP, SPIN, PLAIN = ("depth 2", ", sleep"), ("depth 2", ", spin"), ("plain loop", ", sleep")


def ahead(directory, docs):
    have_plot = shutil.which("gnuplot") or os.path.exists(f"{docs}/{PLOT}")
    picture = [f"![Reading ahead]({PLOT})", ""] if have_plot else []
    rows, command = read(directory, "prefetch")
    loops = Loops(rows)
    read_ms = loops.rows["reading a batch, plain loop"]["value"]

    def cells(loop, ratio):
        rate, waits = loops.get(loop, ratio, "rate"), loops.get(loop, ratio, "waits")
        hidden, depth = loops.get(loop, ratio, "hidden"), loops.get(loop, ratio, "queue depth")
        if rate is None:
            return None
        return [f"{rate['value']:.1f}", f"{rate['ratio']:.2f}", f"{waits['value']:.1f} %",
                f"{hidden['value']:.1f} %" if hidden else "",
                f"{depth['value']:.0f}" if depth else ""]

    kinds = ((PLAIN, "plain loop"), (SLEEP, "pipeline"), (SPIN, "pipeline, CPU busy"))
    body = []
    for ratio in loops.ratios("depth 2"):
        for loop, name in kinds:
            found = None if loop is SPIN and ratio == 0 else cells(loop, ratio)
            if found:
                body.append([f"{ratio:g}", name, *found])
    head = ["compute / read", "", "batches/s", "x bound", "waits", "reading hidden", "queue depth"]
    depths = []
    for depth in (1, 2, 4):
        for ratio in loops.ratios("depth 1"):
            found = cells((f"depth {depth}", ", sleep"), ratio)
            if found:
                depths.append([f"{depth}", f"{ratio:g}", *found])
    return ["### Reading ahead", "", f"`{command}`", "",
            f"Batches of 4096 uniform rows, cold; reading one takes {read_ms:.1f} ms in a plain "
            "loop. Bound: a batch takes the longer of computing and reading it. Waits: the loop's "
            "time that went by without rows to compute on (plain loop: reading). `CPU busy`: "
            "computing keeps a core busy; else it waits, as for a GPU. Limit of the queue: 128. "
            "Depth 2:", "",
            *table(head, body), *picture, "By depth of the pipeline:", "",
            *table(["depth", *head[:1], *head[2:]], depths)], loops


def bulk(directory):
    rows, command = read(directory, "bulk")
    lines = ["### Bulk lookup", "", f"`{command}`", ""]
    for workload, title in (("bulk uniform", "uniform"), ("bulk zipf", "Zipf 0.99")):
        own = [r for r in rows if r["workload"] == workload]
        measured = [r for r in own if r["unit"] == "krows/s"]
        stock = next(r for r in measured if "RocksDB" in r["variant"])
        limit = next(r for r in own if r["unit"] == "MB/s")
        body = [[r["variant"], f"{r['value']:.1f}", f"{r['ratio']:.2f}",
                 f"{r['value'] / stock['value']:.2f}", r["remark"]] for r in measured]
        lines += [f"1,000,000 ids, {title}; {limit['variant']} at {limit['value']:.0f} MB/s:", "",
                  *table(["", "thousand rows a second", "x a key at a time", "x RocksDB", ""],
                         body),
                  *left_out(own)]
    return lines


def order(directory):
    if not os.path.exists(f"{directory}/order.txt"):
        return ["### Order of rows", "", "Not measured in this run: `bench/report.sh --order`.", ""]
    with open(f"{directory}/order.txt") as file:
        text = file.read().strip()
    return ["### Order of rows", "", "`bench/order.sh`", "", "```", text, "```", ""]


def plot(directory, docs, loops, cold_rows):
    if shutil.which("gnuplot") is None:
        print(f"no gnuplot: docs/{PLOT} was not made anew")
        return
    ratios = loops.ratios("depth 2")

    def series(name, loop, figure, field):
        with open(f"{directory}/{name}.dat", "w") as file:
            for ratio in ratios:
                own = loop if ratio > 0 or loop is not SPIN else SLEEP
                row = loops.get(own, ratio, figure)
                if row:
                    file.write(f"{ratio} {row[field]}\n")

    for name, loop in (("plain", PLAIN), ("sleep", SLEEP), ("spin", SPIN)):
        series(f"{name}_waits", loop, "waits", "value")
        series(f"{name}_rate", loop, "rate", "value")
    read_ms = loops.rows["reading a batch, plain loop"]["value"]
    bars = [("raw file, io_uring 4K, depth 128 (limit)", "raw file (limit)"),
            ("EDO, as it comes", "EDO"), ("EDO without io_uring", "EDO, no io\\\\_uring"),
            ("RocksDB as shipped, MultiGet, same files", "RocksDB"),
            ("LMDB, one row a key, NORDAHEAD", "LMDB"),
            ("fp32 file, mmap, MADV_RANDOM", "fp32 mmap")]
    values = {r["variant"]: r["value"] for r in cold_rows}
    with open(f"{directory}/bars.dat", "w") as file:
        for variant, label in bars:
            if variant in values:
                file.write(f'"{label}" {values[variant]}\n')
    script = f"""
set terminal pngcairo size 1500,480 font 'sans,10'
set output '{docs}/{PLOT}'
set multiplot layout 1,3
set grid ytics
set style line 1 linecolor rgb '#7f7f7f' linewidth 2
set style line 2 linecolor rgb '#1f77b4' linewidth 2
set style line 3 linecolor rgb '#ff7f0e' linewidth 2
set key top right
set xlabel 'computing / reading'
set title 'Time that the loop waits for rows'
set ylabel '% of its time'
set yrange [0:100]
set xrange [-0.05:2.1]
set arrow from 0,5 to 2,5 nohead dashtype 2 linecolor 'gray40'
plot '{directory}/plain_waits.dat' with linespoints linestyle 1 title 'plain loop', \\
     '{directory}/sleep_waits.dat' with linespoints linestyle 2 title 'pipeline, depth 2', \\
     '{directory}/spin_waits.dat' with linespoints linestyle 3 title 'pipeline, CPU busy'
unset arrow
set title 'Batches of 4096 rows'
set ylabel 'batches a second'
set yrange [0:*]
bound(x) = 1000 / ({read_ms} * (x > 1 ? x : 1))
plot bound(x) with lines dashtype 2 linecolor 'gray40' title 'bound: max(computing, reading)', \\
     '{directory}/plain_rate.dat' with linespoints linestyle 1 title 'plain loop', \\
     '{directory}/sleep_rate.dat' with linespoints linestyle 2 title 'pipeline, depth 2', \\
     '{directory}/spin_rate.dat' with linespoints linestyle 3 title 'pipeline, CPU busy'
set title 'Cold random rows, one thread'
set ylabel 'thousand rows a second'
unset xlabel
unset key
set xrange [*:*]
set style fill solid 0.7
set boxwidth 0.7
set xtics rotate by -30
plot '{directory}/bars.dat' using 0:2:xtic(1) with boxes linecolor rgb '#1f77b4', \\
     '' using 0:2:(sprintf('%.0f', $2)) with labels offset 0,0.6
unset multiplot
"""
    with open(f"{directory}/plot.gp", "w") as file:
        file.write(script)
    subprocess.run(["gnuplot", f"{directory}/plot.gp"], check=True)


def main():
    directory, docs = sys.argv[1:]
    cold_lines, cold_rows = cold(directory)
    ahead_lines, loops = ahead(directory, docs)
    lines = ["## Reading from disk, measured by one command", "",
             "`bench/report.sh` writes this part.", "", f"Machine: {machine(directory)}.", "",
             *cold_lines, *ahead_lines, *bulk(directory), *order(directory)]
    path = f"{docs}/benchmarks.md"
    with open(path) as file:
        text = file.read()
    if BEGIN not in text or END not in text:
        sys.exit(f"{path} lacks the comments {BEGIN} and {END}")
    head, rest = text.split(BEGIN, 1)
    tail = rest.split(END, 1)[1]
    with open(path, "w") as file:
        file.write(head + BEGIN + "\n" + "\n".join(lines).rstrip() + "\n" + END + tail)
    plot(directory, docs, loops, cold_rows)
    print(f"{path} and {docs}/{PLOT} have the figures")


if __name__ == "__main__":
    main()
