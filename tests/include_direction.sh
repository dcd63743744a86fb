#!/bin/sh
# Who may include whom (docs/architecture.md). Prints every line that breaks a rule; exit 1 then.
# Usage: include_direction.sh REPOSITORY_ROOT
cd "$1" || exit 2
bad=0
forbid() {  # forbid FOLDER PATTERN [EXCEPT-FILES]
  [ -d "$1" ] || return 0
  found=$(grep -rnE --include='*.h' --include='*.cc' --include='*.cu' --include='*.cuh' \
    "#include [\"<]($2)" "$1")
  [ -n "$3" ] && found=$(printf '%s\n' "$found" | grep -vE "^($3):")
  if [ -n "$found" ]; then
    printf '%s\n' "$found"
    echo "^ $1/ must not include $2"
    bad=1
  fi
}
third='rocksdb/|boost/|cuda|zstd|zlib|liburing|nlohmann/|fast_float/|xxhash|CLI/'
forbid include  "(engine|storage|gpucache|kernels|tools)/|$third" 'include/edo/asio.h'
forbid kernels  '(engine|storage|gpucache|tools)/|rocksdb/|boost/|zstd|zlib|liburing|nlohmann/|CLI/'
forbid kernels  'edo/(store|table|transfer)'
# CUDA's own headers only under kernels/cuda. The executor knows the standard library and itself; it
# is for tests, and kernels reach it through the dialect alone.
forbid kernels/cpu  '(cuda|kernels/simt/)'
forbid kernels/simt '(cuda|boost/|edo/|kernels/(cpu|cuda)/|kernels/[a-z_]*\.h|tests/)'
forbid kernels/cuda 'kernels/simt/' 'kernels/cuda/(dialect|runtime)\.h'
forbid storage  'kernels/(simt|cuda)/'
forbid engine   'kernels/(simt|cuda)/'
forbid gpucache 'kernels/simt/'
forbid storage  '(engine|gpucache|tools)/|boost/|cuda|CLI/'
forbid storage  'rocksdb/' 'storage/rocksdb_[a-z_]*\.(h|cc)'
forbid storage  'liburing' 'storage/rocksdb_[a-z_]*\.(h|cc)'
forbid gpucache '(engine|storage|tools)/|rocksdb/|boost/|cuda|CLI/'
forbid gpucache 'edo/(store|table|transfer)'
forbid engine   'boost/' 'engine/executor\.cc'
forbid engine   'tools/|rocksdb/|cuda|zstd|zlib|liburing|CLI/'
forbid tools    '(engine|storage|gpucache|kernels)/|rocksdb/|boost/|cuda|zstd|zlib|liburing'
# RocksDB's types stay behind the row store: no other header of storage/ may name its home.
forbid storage/readers '(storage/rocksdb_|storage/row_store)'
forbid storage/writers '(storage/rocksdb_|storage/row_store)'
# A public header must not change with macros of the user's build; asio.h asks for Boost's version.
if grep -nE '^ *# *if' include/edo/*.h | grep -v '^include/edo/asio.h:'; then echo "^ public headers hold no #if"; bad=1; fi
[ "$bad" = 0 ] && echo "include direction: ok"
exit $bad
