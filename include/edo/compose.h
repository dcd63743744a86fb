// Composed tables: a table by name whose rows are computed from rows of other tables, as models
// with compositional embeddings keep them.
//
//   auto info = edo::ComposeTable(store.get(), "users",
//       {.op = edo::ComposedOp::kProduct,
//        .parts = {{.table = "users.q", .hash = edo::PartHash::kQuotient, .divisor = 1000},
//                  {.table = "users.r", .hash = edo::PartHash::kRemainder, .divisor = 1000}},
//        .rows = 1000000});
//
// The parts are ordinary dense tables of the same store, of any codec. A composed table is opened
// and read as any other (table.h); only its record is stored.
//
// Values. Rows of the parts are decoded to f32, multiplied by the part's weight when that is not 1
// (rounded once), and combined in f32 in the order of the parts, each sum or product rounded once;
// concat puts them one behind the other. The result is then stored as out_type. Bags pool these
// rows by the rules of Table::LookupBags. (A sum of products is not the product of sums: DLRM's
// QREmbeddingBag with "mult" pools each of its tables first. For bags of more than one id pool the
// parts' tables and multiply.)
//
// States. A row one of whose parts could not be read is kUnread, and its place in `out` untouched.
// Failures name the chunk of the part's table; their first_row and row_count are 0. Stats count
// what the parts' tables read.
//
// An open handle keeps the generations of its parts. Importing or recoding a part in place is
// allowed; opening the composed table then fails with kCorruption while the part has too few rows
// or another dim. The commit that brings this about logs a warning (StoreOptions::log), and
// Store::Tables says why (TableInfo::unfit). A part cannot be dropped; renaming it renames it in the
// composition, too. Lookups on device are computed on the host and copied up.
// PipelineOptions::look_ahead is not used. BulkLookup and Scan hold rows as f32.
//
// Sources: Shi et al. 2020, "Compositional Embeddings Using Complementary Partitions" (quotient and
// remainder); Svenstrup et al. 2017, "Hash Embeddings"; Carter and Wegman 1979 (affine);
// MurmurHash3_x64_128 as thinc's Ops.hash, and so spaCy's HashEmbed, uses it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "edo/status.h"
#include "edo/table.h"

namespace edo {

class Store;

enum class ComposedOp : uint8_t {  // ON DISK: never renumber
  kSum = 0,
  kProduct = 1,
  kConcat = 2,
};
std::string_view ComposedOpName(ComposedOp op);  // "sum", "product", "concat"

// Which row of a part's table an id takes; ids count as unsigned 64-bit numbers.
enum class PartHash : uint8_t {  // ON DISK: never renumber
  kQuotient = 0,                 // id / divisor
  kRemainder = 1,                // id % divisor
  kAffine = 2,                   // (a * id + b) mod p mod buckets, computed in 128 bits
  kMurmur3 = 3,      // word `word` of MurmurHash3_x64_128(the 8 bytes of id, seed) taken as four
                     // little-endian 32-bit numbers, mod buckets
  kQuotientF32 = 4,  // f32(id) / f32(divisor) rounded to f32, cut: what DLRM's QREmbeddingBag
                     // computes; differs from kQuotient only beyond 2^24 ids
};

struct ComposedPart {
  std::string table;
  PartHash hash = PartHash::kQuotient;
  uint64_t divisor = 0;          // kQuotient, kQuotientF32, kRemainder; from 1
  uint64_t a = 0, b = 0, p = 0;  // kAffine; p from 1
  uint32_t seed = 0, word = 0;   // kMurmur3; word 0..3
  uint64_t buckets = 0;          // kAffine, kMurmur3; 0: the rows that the part's table has now
  float weight = 1;              // finite
};

// "TABLE:quotient:D", "TABLE:quotient-f32:D", "TABLE:remainder:D", "TABLE:affine:A:B:P[:BUCKETS]",
// "TABLE:murmur3:SEED:WORD[:BUCKETS]"; "TABLE:murmur3:SEED" is all four words, four parts. Any of
// them may end in "*WEIGHT". kInvalidArgument says what was found and what is expected.
Result<std::vector<ComposedPart>> ParseComposedParts(std::string_view text);
// The same back, with buckets.
std::string ComposedPartText(const ComposedPart& part);

struct ComposedOptions {
  ComposedOp op = ComposedOp::kSum;
  std::vector<ComposedPart> parts{};  // 1 .. 64
  uint64_t rows = 0;     // keys are 0 .. rows-1, as of a dense table. 0: every 64-bit id is a key
                         // (TableInfo::every_id); not with quotients
  bool replace = false;  // replace a table of this name
  Metadata metadata{};
  bool reproducible = false;  // leave the time of the commit out
};

// Makes the table `name`, in one durable step. kInvalidArgument: options that do not fit each other
// or the parts' tables (too few rows, another dim, keys that are not dense, a composed one);
// kNotFound: no such part; kAlreadyExists. Cost: a commit.
Result<TableInfo> ComposeTable(Store* store, std::string_view name, const ComposedOptions& options);

}  // namespace edo
