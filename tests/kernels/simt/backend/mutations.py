#!/usr/bin/env python3
"""Breaks the CUDA kernels on purpose, one way at a time, and checks that the suite sees it.

Each mutation is a text replacement in a copy of kernels/cuda; one .cu file is compiled again for the
check build of the executor and linked with the other objects of simt_backend_check_tests. The suite
must then fail: by a report of the executor or by a wrong result. A mutation whose text is no longer
found exactly once is an error: it must follow the kernels.

usage: mutations.py mutations.json [name ...]
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

AT_ONCE = 2  # mutants; CMakeLists.txt tells ctest

# name, file compiled, file changed, text, replacement
MUTATIONS = [
    ("probe-drop-sync-before-found", "probe.cu", "probe_rows.cuh",
     "  found[lane] = make_uint2(0, static_cast<uint32_t>(mark) << 16);\n  tile.Sync();\n",
     "  found[lane] = make_uint2(0, static_cast<uint32_t>(mark) << 16);\n"),
    ("probe-drop-sync-after-found", "probe.cu", "probe_rows.cuh",
     "      break;  // a position has one slot (I3)\n    }\n  }\n  tile.Sync();\n",
     "      break;  // a position has one slot (I3)\n    }\n  }\n"),
    ("probe-wrong-shuffle-source", "probe.cu", "probe_rows.cuh",
     "const uint32_t source = p * kRowsAPass + lane / 4;",
     "const uint32_t source = p * kRowsAPass + lane / 8;"),
    ("probe-tags-one-vector-on", "probe.cu", "probe_rows.cuh",
     "+ quarter * 16)", "+ quarter * 16 + 16)"),
    ("probe-ignores-high-tag", "probe.cu", "probe_rows.cuh",
     "if (head.high_tag != high_tag[p]) continue;", ""),
    ("probe-missing-bounds-check", "probe.cu", "probe_rows.cuh",
     "mark = MarkOfNumber(query, row);",
     "mark = row <= query.table_rows ? RowMark::kMissed : RowMark::kAbsent;"),
    ("probe-tier-position", "probe.cu", "probe_rows.cuh",
     "PlaceOf(PositionOf(query, row),", "PlaceOf(query.first_position + row,"),
    ("gather-zeroes-elsewhere", "probe.cu", "probe.cu",
     "MarkOf(place) != RowMark::kAbsent || !args.zero_absent",
     "MarkOf(place) == RowMark::kMissed || !args.zero_absent"),
    ("gather-marks-elsewhere", "probe.cu", "probe.cu",
     "if (mine && args.marks != nullptr && mark != RowMark::kElsewhere) {",
     "if (mine && args.marks != nullptr) {"),
    ("probe-missing-count-check", "probe.cu", "probe_rows.cuh",
     "if (lane < count) {\n    const uint64_t row", "{\n    const uint64_t row"),
    ("probe-forgets-scores", "probe.cu", "probe_rows.cuh",
     "if (touched != head.score) gpu::StoreRelaxed(ScoreOf(entry), touched);", ""),
    ("probe-no-blocks", "probe.cu", "probe_rows.cuh", 
     "if (mark == RowMark::kMissed && blocks.blocks != 0) {",
     "if (mark == RowMark::kMissed) {"),
    ("gather-plain-counter", "probe.cu", "probe.cu",
     "place = atomicAdd(&args.counts->misses, static_cast<unsigned>(__popc(missed)));",
     "place = args.counts->misses; args.counts->misses = place + __popc(missed);"),
    ("gather-drop-broadcast", "probe.cu", "probe.cu", "place = warp.Shfl(place, 0);", ""),
    ("gather-full-mask-in-branch", "probe.cu", "probe.cu",
     "if (missed == 0) return;", "if ((missed >> warp.Lane() & 1) == 0) return;"),
    ("gather-drop-sync-between-rounds", "probe.cu", "probe.cu",
     "warp.Sync();  // `found` is written again", ""),
    ("gather-writes-past-dim", "probe.cu", "probe.cu",
     "args.format.dim - value);", "P::kValues);"),
    ("gather-one-piece-too-many", "probe.cu", "probe.cu",
     "const uint32_t pieces = count * divider.pieces;",
     "const uint32_t pieces = count * divider.pieces + 1;"),
    ("gather-forgets-absent", "probe.cu", "probe.cu",
     "MarkOf(place) != RowMark::kAbsent || !args.zero_absent", "true"),
    ("gather-side-behind-the-codes", "gather.cu", "gather.cu",
     "source * args.row_stride + side_at,",
     "source * args.row_stride + args.format.code_bytes,"),
    ("fill-side-behind-the-codes", "fill.cu", "fill.cu",
     "row[args.format.side_at() + b]", "row[code_bytes + b]"),
    ("pool-drop-sync-between-rounds", "pool.cu", "pool.cu",
     "tile.Sync();  // `found` is written again", ""),
    ("pool-reuses-found-of-long-bags", "pool.cu", "pool.cu",
     "if (panel == 0 || end - begin > N) {", "if (panel == 0) {"),
    ("pool-fused-multiply-add", "pool.cu", "pool.cu",
     "sums[k][v] = __fadd_rn(sums[k][v], weighted ? __fmul_rn(weight, value) : value);",
     "sums[k][v] = __fmaf_rn(weight, value, sums[k][v]);"),
    ("pool-plain-counter", "pool.cu", "pool.cu",
     "args.incomplete[atomicAdd(&args.counts->bags, 1u)]", "args.incomplete[args.counts->bags++]"),
    ("pool-sums-missed-bags", "pool.cu", "pool.cu", "if (missed != 0) break;", ""),
    ("pool-divides-by-all", "pool.cu", "pool.cu",
     "const uint64_t present = end - begin - absent;", "const uint64_t present = end - begin;"),
    ("rows-drop-sync", "gather.cu", "gather.cu",
     "side.at[0] & 0xffffu, side.at[0] >> 16);\n    }\n    warp.Sync();\n",
     "side.at[0] & 0xffffu, side.at[0] >> 16);\n    }\n"),
    ("rows-read-past-the-end", "gather.cu", "gather.cu",
     "codes[a].LoadBytes(codes_at + at, min(code_bytes - at, P::kCodeBytes));",
     "codes[a].LoadBytes(codes_at + at, P::kCodeBytes);"),
    ("rows-unaligned-word", "gather.cu", "words.cuh",
     "if (bytes >= 4 * w + 4 && address % 4 == 0) {", "if (bytes >= 4 * w + 4) {"),
    ("store-unaligned-vector", "gather.cu", "row_decoders.cuh",
     "if (values >= kValues && reinterpret_cast<uintptr_t>(to) % kAlignment == 0) {",
     "if (values >= kValues) {"),
    ("whole-ignores-the-stride", "probe.cu", "row_decoders.cuh",
     "out.stride * kOutBytes % kAlignment == 0 && dim % kValues == 0",
     "dim % kValues == 0"),
    ("whole-ignores-the-dim", "probe.cu", "row_decoders.cuh", " && dim % kValues == 0", ""),
    ("whole-ignores-row-addresses", "gather.cu", "gather.cu",
     "reinterpret_cast<uintptr_t>(args.rows) % P::kCodeBytes == 0", "true"),
    ("decode-loses-nan", "gather.cu", "words.cuh",
     "if ((half & 0x7fffu) <= 0x7c00u) return value;", "return value;"),
    ("f8-loses-the-sign-of-zeros", "gather.cu", "levels.cuh",
     "return __fmul_rn(__uint_as_float((code", "return 0.0f + __fmul_rn(__uint_as_float((code"),
    ("l4-wrong-half-of-a-word", "gather.cu", "levels.cuh",
     "outwards >> 16 * (i / 4)", "outwards >> 16 * (i % 2)"),
    ("l4-pool-wrong-half-of-a-word", "pool.cu", "pool.cu",
     "codes.at[0] >>= column % Decoder::kValuesAWord", "codes.at[0] >>= 0"),
    ("l4plus4-steps-from-below", "gather.cu", "levels.cuh", "(fine ^ negative * 15)", "fine"),
    ("l4plus4-one-word-of-two", "probe.cu", "whole_rows.cuh",
     "if (end <= word + 4) return low >> shift;", "return low >> shift;"),
    ("int8-without-its-offset", "gather.cu", "scales.cuh", "__fadd_rn(level, offset)", "level"),
    ("int8-offset-in-the-scale", "gather.cu", "scales.cuh", "DecodeBF16(Int8ScaleOf(side.head))",
     "DecodeBF16(side.head & 0x7fffu)"),
    ("l4-scale-with-its-sign", "gather.cu", "scales.cuh",
     "scale(DecodeBF16(side.head & 0x7fffu))", "scale(DecodeBF16(side.head))"),
    ("l4plus4-never-ends-near", "gather.cu", "whole_rows.cuh",
     "L4HalfSteps((side.head & kL4EndsNear) != 0)", "L4HalfSteps(false)"),
    ("profile-of-plain-rows", "gather.cu", "scales.cuh",
     "if (is_plain) return plain.Value(level, NoColumns<kCount>{}, v);", ""),
    ("profile-other-order", "gather.cu", "scales.cuh",
     "__fmul_rn(__fmul_rn(b, columns.deviation[v]), level)",
     "__fmul_rn(b, __fmul_rn(columns.deviation[v], level))"),
    ("profile-reads-past-the-end", "gather.cu", "scales.cuh", "left >= kCount && ", ""),
    ("profile-unaligned-vector", "gather.cu", "scales.cuh",
     "left >= kCount && reinterpret_cast<uintptr_t>(p) % 16 == 0", "left >= kCount"),
    ("profile-wrong-side-data", "probe.cu", "probe_rows.cuh",
     "reinterpret_cast<const uint16_t*>(side + 2)", "reinterpret_cast<const uint16_t*>(side)"),
    ("pq-last-part-as-wide-as-others", "gather.cu", "whole_rows.cuh",
     "code * format.WidthOf(part)", "code * format.width()"),
    ("pq-unaligned-fours", "gather.cu", "whole_rows.cuh",
     "width % 4 == 0 && format.full_dim % 4 == 0 &&", "width % 4 == 0 &&"),
    ("pq-codes-of-one-word", "gather.cu", "whole_rows.cuh",
     "if (end > first + 4) bytes |=", "if (false) bytes |="),
    ("opq-one-group", "gather.cu", "whole_rows.cuh",
     "min(end, group.first + group.columns)", "end"),
    ("opq-keeps-the-first-codes", "gather.cu", "whole_rows.cuh",
     "if (first || bit % 32 == 0) word", "if (first) word"),
    ("opq-fused-multiply-add", "pool.cu", "whole_rows.cuh",
     "*sum = __fadd_rn(*sum, __fmul_rn(y, __uint_as_float(factor)));",
     "*sum = __fmaf_rn(y, __uint_as_float(factor), *sum);"),
    ("rq-keeps-the-first-codes", "gather.cu", "whole_rows.cuh",
     "if (stage != 0 && bit % 32 == 0) word", "if (false) word"),
    ("rq-of-leading-values", "gather.cu", "whole_rows.cuh",
     "* format.full_dim + column) * 2", "* format.dim + column) * 2"),
    ("fill-mask-omits-a-lane", "fill.cu", "fill.cu",
     "__reduce_min_sync(0xffffffffu,", "__reduce_min_sync(0x7fffffffu,"),
    ("fill-takes-pinned-slots", "fill.cu", "fill.cu",
     "pinned || ahead != 0 ? ~0u : value", "ahead != 0 ? ~0u : value"),
    ("fill-forgets-next-uses", "fill.cu", "fill.cu",
     "pinned || ahead != 0 ? ~0u : value", "pinned ? ~0u : value"),
    ("fill-known-use-asks-the-score", "fill.cu", "fill.cu", "use != 0 || MayReplace(",
     "MayReplace("),
    ("fill-sees-passed-uses-of-slots", "fill.cu", "fill.cu",
     "UseAhead(blocks.next_use[block * kSlots + lane], args.now)",
     "blocks.next_use[block * kSlots + lane] - args.now"),
    ("fill-sees-passed-uses-of-rows", "fill.cu", "fill.cu",
     "UseAhead(args.next_use[i], args.now)", "args.next_use[i] - args.now"),
    ("fill-takes-the-nearest", "fill.cu", "fill.cu",
     "__reduce_max_sync(0xffffffffu, pinned ? 0u : ahead)",
     "__reduce_min_sync(0xfffffffeu + 1u, pinned ? ~0u : ahead)"),
    ("fill-takes-pinned-slots-used-last", "fill.cu", "fill.cu",
     "warp.Ballot(!pinned && ahead == farthest)", "warp.Ballot(ahead == farthest)"),
    ("fill-takes-rows-used-sooner", "fill.cu", "fill.cu", "if (IsSooner(use, farthest)) {", "{"),
    ("write-forgets-next-use", "fill.cu", "fill.cu",
     "args.next_use != nullptr ? args.next_use[i] : kNoUse;", "kNoUse;"),
    ("write-keeps-the-old-next-use", "fill.cu", "fill.cu",
     "    if (blocks.next_use != nullptr) {\n      blocks.next_use[slot]",
     "    if (args.next_use != nullptr) {\n      blocks.next_use[slot]"),
    ("fill-leaves-the-victims-tag", "fill.cu", "fill.cu",
     "if (evicts) gpu::StoreRelaxed(tag_at, 0);", ""),
    ("fill-normalises-too-much", "fill.cu", "fill.cu",
     "if (!pinned && occupied && lane < first_free) {", "if (occupied) {"),
    ("fill-ignores-worth", "fill.cu", "fill.cu",
     "MayReplace(CandidateValue(args.frequencies[i]), least / kSlots)", "true"),
    ("fill-chosen-is-not-pinned", "fill.cu", "fill.cu",
     "          tag = 0;\n          pinned = true;\n", "          tag = 0;\n"),
    ("write-one-vector-too-many", "fill.cu", "fill.cu",
     "at < blocks.shape.slot_bytes(); at", "at <= blocks.shape.slot_bytes(); at"),
    ("publish-before-write", "cuda_backend.cu", "cuda_backend.cu",
     "bodies::WriteSlots(args, shape_, To(stream))",
     "bodies::PublishSlots(args, shape_, To(stream)) + "
     "bodies::WriteSlots(args, shape_, To(stream))"),
    ("publish-keeps-pins", "fill.cu", "fill.cu", "    blocks.pins[slot] = 0;\n", ""),
    ("invalidate-plain-pins", "sweep.cu", "sweep.cu",
     "atomicAnd(pins.word, ~(0xffu << pins.shift));", "*pins.word &= ~(0xffu << pins.shift);"),
    ("pin-plain-count", "sweep.cu", "sweep.cu",
     "const unsigned before = atomicCAS(pins.word, seen, delta > 0 ? seen + one : seen - one);",
     "const unsigned before = seen; *pins.word = delta > 0 ? seen + one : seen - one;"),
    ("foresee-rows-that-are-not-there", "sweep.cu", "sweep.cu",
     "    if (slot == kSlots || warp.Lane() != 0) continue;\n    blocks.next_use",
     "    if (warp.Lane() != 0) continue;\n    blocks.next_use"),
    ("foresee-wrong-block", "sweep.cu", "sweep.cu",
     "blocks.next_use[place.block * kSlots + slot]", "blocks.next_use[slot]"),
    ("range-one-too-far", "sweep.cu", "sweep.cu", "position >= last", "position > last"),
    ("new-memory-is-not-zeroed", "cuda_backend.cu", "cuda_backend.cu",
     "gpu::MemsetAsync(memory, 0, AtLeastOne(bytes), nullptr)", "0"),
]


def run(command, **kwargs):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **kwargs)


def check(build, mutation):
    """Whether the suite sees the mutation, and a line that says so."""
    name, compiled, changed, text, replacement = mutation
    source = build["source"]
    with tempfile.TemporaryDirectory() as work:
        kernels = os.path.join(work, "kernels", "cuda")
        shutil.copytree(os.path.join(source, "kernels", "cuda"), kernels)
        path = os.path.join(kernels, changed)
        with open(path) as file:
            code = file.read()
        if code.count(text) != 1:
            return False, f"{name}: its text is in {changed} {code.count(text)} times"
        with open(path, "w") as file:
            file.write(code.replace(text, replacement))
        program = os.path.join(work, "mutant")
        mutant = program + ".o"
        done = run([build["compiler"], "-std=c++20", "-x", "c++", *build["options"].split(),
                    "-w", "-I", work, "-I", source, "-I", os.path.join(source, "include"),
                    "-c", os.path.join(kernels, compiled), "-o", mutant])
        if done.returncode == 0:
            others = [o for o in build["kernels"].split() if not o.endswith("/" + compiled + ".o")]
            done = run([build["compiler"], mutant, *others, *build["objects"].split(),
                        *build["libraries"].split(), "-o", program])
        if done.returncode != 0:
            return False, f"{name}: does not build\n{done.stdout}"
        try:
            done = run([program, "--gtest_fail_fast", "--gtest_brief=1"], timeout=240)
        except subprocess.TimeoutExpired:
            return True, f"{name}: caught (does not end)"
        if done.returncode == 0:
            return False, f"{name}: NOT SEEN"
        report = re.search(r"(race|out-of-bounds|uninitialised|misaligned|collective-mismatch|"
                           r"mask-\S+|exited-lane|shuffle-source|host-memory|deadlock|livelock)"
                           r": [^\n]*", done.stdout)
        why = report.group(0) if report else "wrong result"
        if done.returncode < 0:
            why += f", signal {-done.returncode}"
        return True, f"{name}: caught ({why[:150]})"


def main():
    with open(sys.argv[1]) as file:
        build = json.load(file)
    wanted = sys.argv[2:]
    chosen = [m for m in MUTATIONS if not wanted or m[0] in wanted]
    caught = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for seen, line in pool.map(lambda mutation: check(build, mutation), chosen):
            caught += seen
            print(line, flush=True)
    print(f"{caught} mutants caught, {len(chosen) - caught} failures")
    return 0 if caught == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
