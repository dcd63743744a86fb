#!/usr/bin/env python3
"""faiss's quantisers on the rows that `codec --rows-to=DIR` left, as CSV on standard output.

    bench/codec_faiss.py DIR DIM                 errors: PQ at widths 2, 4, 8; SQ8; SQ4
    bench/codec_faiss.py --time FILE.f32 DIM M ROUNDS THREADS
                                                 median and least seconds to train PQ{M}x8

PQ learns from rows of mean square 1, 25 iterations, as EDO's does, and is tested on such rows; the
scalar quantisers learn from rows as they are. Needs faiss (pip install faiss-cpu) and numpy; exit
code 77 without them.
"""
import sys
import time

try:
    import faiss
    import numpy as np
except ImportError as missing:
    print(f"codec_faiss: SKIPPED, {missing}", file=sys.stderr)
    sys.exit(77)


def rows_of(path, dim):
    return np.fromfile(path, dtype="float32").reshape(-1, dim)


def unit(rows):
    norms = np.sqrt((rows.astype("float64") ** 2).mean(axis=1, keepdims=True))
    kept = norms[:, 0] > 0
    return np.ascontiguousarray((rows[kept] / norms[kept]).astype("float32"))


def trained(dim, parts, rows):
    quantiser = faiss.ProductQuantizer(dim, parts, 8)
    quantiser.cp.niter = 25
    quantiser.cp.max_points_per_centroid = 256
    quantiser.train(rows)
    return quantiser


def scores(rows, decoded):
    rows, decoded = rows.astype("float64"), decoded.astype("float64")
    energy = (rows**2).sum(axis=1)
    kept = energy > 0
    rows, decoded, energy = rows[kept], decoded[kept], energy[kept]
    errors = ((rows - decoded) ** 2).sum(axis=1) / energy
    lengths = np.sqrt(energy * (decoded**2).sum(axis=1))
    cosines = np.where(lengths > 0, (rows * decoded).sum(axis=1) / np.maximum(lengths, 1e-300), 0)
    worst_first = np.sort(cosines)
    return errors.mean(), worst_first[max(0, -(-len(cosines) // 100) - 1)], worst_first[0]


def print_errors(directory, dim):
    learn, test = rows_of(f"{directory}/learn.f32", dim), rows_of(f"{directory}/test.f32", dim)
    print("codec,bits,error,cosine_p1,cosine_worst")
    unit_learn, unit_test = unit(learn), unit(test)
    for width in (2, 4, 8):
        if dim % width:
            print(f"codec_faiss: PQ of width {width}: SKIPPED, {dim} is no multiple",
                  file=sys.stderr)
            continue
        quantiser = trained(dim, dim // width, unit_learn)
        decoded = quantiser.decode(quantiser.compute_codes(unit_test))
        print("PQ%dx8,%.2f,%.6e,%.6f,%.6f" % (dim // width, 8 / width, *scores(unit_test, decoded)))
    for name, kind, bits in (("SQ8", faiss.ScalarQuantizer.QT_8bit, 8),
                             ("SQ4", faiss.ScalarQuantizer.QT_4bit, 4)):
        quantiser = faiss.ScalarQuantizer(dim, kind)
        quantiser.train(learn)
        decoded = quantiser.decode(quantiser.compute_codes(test))
        print("%s,%.2f,%.6e,%.6f,%.6f" % (name, bits, *scores(test, decoded)))


def print_time(path, dim, parts, rounds, threads):
    faiss.omp_set_num_threads(threads)
    rows = unit(rows_of(path, dim))[:65536]
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        trained(dim, parts, rows)
        times.append(time.perf_counter() - start)
    times.sort()
    print(f"faiss {faiss.__version__} PQ{parts}x8,{len(rows)},{dim},{threads},"
          f"{times[len(times) // 2]:.3f},{times[0]:.3f}")


if __name__ == "__main__":
    if len(sys.argv) == 7 and sys.argv[1] == "--time":
        print_time(sys.argv[2], *map(int, sys.argv[3:]))
    elif len(sys.argv) == 3:
        print_errors(sys.argv[1], int(sys.argv[2]))
    else:
        sys.exit(__doc__)
