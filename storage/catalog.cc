#include "storage/catalog.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <functional>
#include <utility>

#include "storage/little_endian.h"
#include "storage/order_page.h"
#include "storage/size_page.h"

namespace edo::storage {
namespace {

// ON DISK: never renumber. A tag with kMustUnderstand set ends the read of a build that does not
// know it.
constexpr uint16_t kMustUnderstand = 0x8000;
enum Tag : uint16_t {
  kCommits = 1,
  kNextGeneration = 2,

  kGeneration = 16 | kMustUnderstand,
  kKeyKind = 17 | kMustUnderstand,
  kCodec = 18 | kMustUnderstand,
  kDim = 19 | kMustUnderstand,
  kRows = 20 | kMustUnderstand,
  kRowBytes = 21 | kMustUnderstand,
  kChunkRows = 22 | kMustUnderstand,
  kChunkBytes = 23,
  kChunkCount = 24 | kMustUnderstand,
  kKeyPages = 25 | kMustUnderstand,
  kKeysPerPage = 26 | kMustUnderstand,
  kIndexBuckets = 27 | kMustUnderstand,
  kChunkFiles = 28,
  kKeyFiles = 29,
  kChunkFileBytes = 30,
  kKeyFileBytes = 31,
  kCreated = 32,
  kMetadata = 33,  // repeated: u32 length of the name, name, value
  // Only of tables that are stored in another order than their source's.
  kOrderPages = 34 | kMustUnderstand,
  kOrderEntries = 35 | kMustUnderstand,
  kOrderName = 36,
  // Only of tables whose chunks are compressed.
  kCompression = 37 | kMustUnderstand,
  kSizePages = 38 | kMustUnderstand,
  kSizesPerPageTag = 39 | kMustUnderstand,
  kPlainChunkBytes = 40,
  kLearnedBytes = 41 | kMustUnderstand,  // only of codecs that learn
  // Only of mixed precision; repeated: the record of a tier before the last, without its checksum.
  kTier = 42 | kMustUnderstand,
  // Only of composed tables:
  kComposedOp = 44 | kMustUnderstand,
  kComposedPart = 45 | kMustUnderstand,  // repeated, in order; see AddPart
  kEveryId = 46 | kMustUnderstand,       // only when it is so
};

constexpr size_t kPartBytes = 1 + 4 * 8 + 4;  // before the name of its table

void AddField(uint16_t tag, std::string_view bytes, std::string* out) {
  AppendLE<uint16_t>(tag, out);
  AppendLE<uint32_t>(static_cast<uint32_t>(bytes.size()), out);
  out->append(bytes);
}

void AddNumber(uint16_t tag, uint64_t value, std::string* out) {
  std::string bytes;
  AppendLE<uint64_t>(value, &bytes);
  AddField(tag, bytes, out);
}

std::string Sealed(std::string record) {
  const uint64_t checksum = XXH3_64bits(record.data(), record.size());
  AppendLE<uint64_t>(checksum, &record);
  return record;
}

// Calls `field` for each field; it returns false for a tag or length it does not take.
using FieldFunction = std::function<bool(uint16_t tag, std::string_view value)>;
Status ForEachFieldOf(std::string_view body, const FieldFunction& field) {
  for (size_t at = 0; at < body.size();) {
    if (body.size() - at < 6) return Status::Corruption("record ends inside a field");
    const uint16_t tag = LoadLE<uint16_t>(body.data() + at);
    const uint32_t length = LoadLE<uint32_t>(body.data() + at + 2);
    at += 6;
    if (body.size() - at < length) return Status::Corruption("record ends inside a field");
    if (!field(tag, body.substr(at, length)) && (tag & kMustUnderstand)) {
      return Status::Unsupported("record holds field " + std::to_string(tag & ~kMustUnderstand) +
                                 ", which this build does not know; use a newer EDO");
    }
    at += length;
  }
  return Status::Ok();
}

// The same of a record with its checksum behind it.
Status ForEachField(std::string_view bytes, const FieldFunction& field) {
  if (bytes.size() < 8) {
    return Status::Corruption("record of " + std::to_string(bytes.size()) +
                              " bytes is shorter than its checksum");
  }
  const std::string_view body = bytes.substr(0, bytes.size() - 8);
  if (XXH3_64bits(body.data(), body.size()) != LoadLE<uint64_t>(bytes.data() + body.size())) {
    return Status::Corruption("record does not match its checksum");
  }
  return ForEachFieldOf(body, field);
}

bool TakeNumber(std::string_view value, uint64_t* out) {
  if (value.size() != 8) return false;
  *out = LoadLE<uint64_t>(value.data());
  return true;
}

bool TakeNumber32(std::string_view value, uint32_t* out) {
  uint64_t number = 0;
  if (!TakeNumber(value, &number) || number > UINT32_MAX) return false;
  *out = static_cast<uint32_t>(number);
  return true;
}

bool TakeMetadata(std::string_view value, Metadata* metadata) {
  if (value.size() < 4) return false;
  const uint32_t length = LoadLE<uint32_t>(value.data());
  if (value.size() - 4 < length) return false;
  (*metadata)[std::string(value.substr(4, length))] = std::string(value.substr(4 + length));
  return true;
}

bool TakeCodec(std::string_view value, CodecSpec* codec) {
  Result<CodecSpec> spec = CodecSpec::Parse(value);
  if (!spec.ok()) return false;
  *codec = *spec;
  return true;
}

bool TakeCompression(std::string_view value, Compression* compression) {
  if (value != CompressionName(Compression::kZstd)) return false;
  *compression = Compression::kZstd;
  return true;
}

// Hash, its three parameters, buckets, weight, name of the table.
std::string PartBytes(const ComposedPart& part) {
  std::string out;
  uint64_t parameters[3] = {part.divisor, 0, 0};
  if (part.hash == PartHash::kAffine) {
    parameters[0] = part.a;
    parameters[1] = part.b;
    parameters[2] = part.p;
  } else if (part.hash == PartHash::kMurmur3) {
    parameters[0] = part.seed;
    parameters[1] = part.word;
  }
  AppendLE<uint8_t>(static_cast<uint8_t>(part.hash), &out);
  for (const uint64_t parameter : parameters) AppendLE<uint64_t>(parameter, &out);
  AppendLE<uint64_t>(part.buckets, &out);
  AppendLE<uint32_t>(std::bit_cast<uint32_t>(part.weight), &out);
  return out + part.table;
}

Composition& CompositionOf(TableRecord* r) {
  if (!r->composition) r->composition.emplace();
  return *r->composition;
}

bool TakePart(std::string_view value, TableRecord* r) {
  if (value.size() <= kPartBytes || static_cast<uint8_t>(value[0]) > 4) return false;
  ComposedPart part;
  part.hash = static_cast<PartHash>(value[0]);
  uint64_t parameters[3];
  for (size_t i = 0; i < 3; ++i) parameters[i] = LoadLE<uint64_t>(value.data() + 1 + 8 * i);
  switch (part.hash) {
    case PartHash::kAffine:
      part.a = parameters[0];
      part.b = parameters[1];
      part.p = parameters[2];
      break;
    case PartHash::kMurmur3:
      if (parameters[0] > UINT32_MAX || parameters[1] > 3) return false;
      part.seed = static_cast<uint32_t>(parameters[0]);
      part.word = static_cast<uint32_t>(parameters[1]);
      break;
    default:
      part.divisor = parameters[0];
  }
  part.buckets = LoadLE<uint64_t>(value.data() + 25);
  part.weight = std::bit_cast<float>(LoadLE<uint32_t>(value.data() + 33));
  part.table = value.substr(kPartBytes);
  const bool hashed = part.hash == PartHash::kAffine || part.hash == PartHash::kMurmur3;
  if (hashed ? part.buckets == 0 : part.divisor == 0) return false;
  if (part.hash == PartHash::kAffine && part.p == 0) return false;
  CompositionOf(r).parts.push_back(std::move(part));
  return true;
}

bool TakeOp(std::string_view value, TableRecord* r) {
  uint64_t number = 0;
  if (!TakeNumber(value, &number) || number > 2) return false;
  CompositionOf(r).op = static_cast<ComposedOp>(number);
  return true;
}

bool TakeEveryId(std::string_view value, TableRecord* r) {
  uint64_t number = 0;
  if (!TakeNumber(value, &number) || number != 1) return false;
  r->info.every_id = true;
  return true;
}

bool TakeKeyKind(std::string_view value, KeyKind* kind) {
  uint64_t number = 0;
  if (!TakeNumber(value, &number) || number > 2) return false;
  *kind = static_cast<KeyKind>(number);
  return true;
}

bool TakeTableField(uint16_t tag, std::string_view value, TableRecord* r) {
  switch (tag) {
    case kGeneration:
      return TakeNumber(value, &r->info.generation);
    case kKeyKind:
      return TakeKeyKind(value, &r->info.key_kind);
    case kCodec:
      return TakeCodec(value, &r->info.codec);
    case kDim:
      return TakeNumber32(value, &r->info.dim);
    case kRows:
      return TakeNumber(value, &r->info.rows);
    case kRowBytes:
      return TakeNumber(value, &r->info.row_bytes);
    case kChunkRows:
      return TakeNumber32(value, &r->info.chunk_rows);
    case kChunkBytes:
      return TakeNumber32(value, &r->chunk_bytes);
    case kChunkCount:
      return TakeNumber(value, &r->info.chunk_count);
    case kKeyPages:
      return TakeNumber(value, &r->key_pages);
    case kKeysPerPage:
      return TakeNumber32(value, &r->keys_per_page);
    case kIndexBuckets:
      return TakeNumber(value, &r->index_buckets);
    case kChunkFiles:
      return TakeNumber(value, &r->chunk_files);
    case kKeyFiles:
      return TakeNumber(value, &r->key_files);
    case kChunkFileBytes:
      return TakeNumber(value, &r->info.chunk_file_bytes);
    case kKeyFileBytes:
      return TakeNumber(value, &r->info.key_file_bytes);
    case kCreated:
      return TakeNumber(value, &r->info.created_unix_s);
    case kMetadata:
      return TakeMetadata(value, &r->info.metadata);
    case kOrderPages:
      return TakeNumber(value, &r->order_pages);
    case kOrderEntries:
      return TakeNumber32(value, &r->order_entries_per_page);
    case kOrderName:
      r->info.order = value;
      return true;
    case kCompression:
      return TakeCompression(value, &r->info.compression);
    case kSizePages:
      return TakeNumber(value, &r->size_pages);
    case kSizesPerPageTag:
      return TakeNumber32(value, &r->sizes_per_page);
    case kPlainChunkBytes:
      return TakeNumber(value, &r->info.plain_chunk_bytes);
    case kLearnedBytes:
      return TakeNumber(value, &r->learned_bytes);
    case kTier:
      return ForEachFieldOf(value,
                            [tier = &r->tiers.emplace_back()](uint16_t t, std::string_view v) {
                              return t < kTier && TakeTableField(t, v, tier);
                            })
          .ok();
    case kComposedOp:
      return TakeOp(value, r);
    case kComposedPart:
      return TakePart(value, r);
    case kEveryId:
      return TakeEveryId(value, r);
    default:
      return false;
  }
}

// Of a composed table: it has no pages.
bool ComposedFits(const TableRecord& r) {
  const TableInfo& t = r.info;
  const bool keys_fit = t.every_id ? t.key_kind == KeyKind::kInt64 && t.rows == 0
                                   : t.key_kind == KeyKind::kDense && t.rows > 0;
  return keys_fit && !r.composition->parts.empty() && t.dim >= 1 && t.dim <= kMaxDim &&
         t.rows <= kMaxRows && t.generation >= 1 && t.generation <= kMaxGenerations &&
         t.codec == CodecSpec{} && t.row_bytes == uint64_t{t.dim} * 4 && t.chunk_count == 0 &&
         r.chunk_files == 0 && r.key_files == 0 && r.key_pages == 0 && r.index_buckets == 0 &&
         r.order_pages == 0 && r.size_pages == 0 && r.sizes_per_page == 0 && r.learned_bytes == 0;
}

// What the numbers of a record must satisfy before any of them sizes a buffer. Of one generation's
// rows:
bool RowsFit(const TableRecord& r) {
  const TableInfo& t = r.info;
  const bool sizes_fit = t.dim >= 1 && t.dim <= kMaxDim && t.rows <= kMaxRows &&
                         t.generation >= 1 && t.generation <= kMaxGenerations &&
                         t.codec.Check(t.dim).ok() && t.row_bytes == t.codec.RowBytes(t.dim) &&
                         r.learned_bytes == t.codec.LearnedBytes(t.dim) && t.chunk_rows >= 1 &&
                         t.chunk_count == (t.rows + t.chunk_rows - 1) / t.chunk_rows;
  const bool packed = t.compression == Compression::kZstd;
  return sizes_fit &&
         (packed ? r.sizes_per_page == kSizesPerPage && r.size_pages == SizePages(t.chunk_count)
                 : r.sizes_per_page == 0 && r.size_pages == 0);
}

// Of all rows of a table:
bool KeysFit(const TableRecord& r) {
  const TableInfo& t = r.info;
  return t.rows <= kMaxRows &&
         (t.key_kind == KeyKind::kDense ||
          (r.keys_per_page >= 1 && r.index_buckets >= 1 &&
           r.key_pages == (t.rows + r.keys_per_page - 1) / r.keys_per_page)) &&
         r.order_pages == OrderPages(t.key_kind, t.rows, r.order_entries_per_page);
}

Status Contradiction(const TableRecord& r) {
  return Status::Corruption("record's numbers contradict each other (rows " +
                            std::to_string(r.info.rows) + ", dim " + std::to_string(r.info.dim) +
                            ", chunks " + std::to_string(r.info.chunk_count) + ")");
}

// The last tier's record, of a table's that is still as it lies on disk: with the last tier's
// numbers but for the rows.
TableRecord LastTier(const TableRecord& record, uint64_t first_row) {
  TableRecord tier = record;
  tier.first_row = first_row;
  tier.tiers.clear();
  tier.info.rows = record.info.rows - first_row;
  tier.info.key_kind = KeyKind::kDense;
  tier.info.order = "file";
  tier.info.metadata.clear();
  tier.key_pages = tier.keys_per_page = tier.index_buckets = 0;
  tier.order_pages = tier.order_entries_per_page = 0;
  return tier;
}

// Sums up what TableInfo says of all tiers.
void SumTiers(TableRecord* record) {
  TableInfo& all = record->info;
  all.chunk_count = all.chunk_file_bytes = all.key_file_bytes = all.plain_chunk_bytes = 0;
  all.compression = Compression::kNone;
  all.tiers.clear();
  for (const TableRecord& tier : record->tiers) {
    const TableInfo& t = tier.info;
    all.chunk_count += t.chunk_count;
    all.chunk_file_bytes += t.chunk_file_bytes;
    all.key_file_bytes += t.key_file_bytes;
    const bool packed = t.compression == Compression::kZstd;
    all.plain_chunk_bytes += packed ? t.plain_chunk_bytes : t.chunk_file_bytes;
    if (packed) all.compression = Compression::kZstd;
    all.tiers.push_back({tier.first_row, t.rows, t.codec, t.row_bytes, t.chunk_rows, t.chunk_count,
                         t.chunk_file_bytes, t.compression});
  }
  if (all.compression == Compression::kNone) all.plain_chunk_bytes = 0;
}

// Checks what came from disk, and completes a record that has tiers.
Status CheckTableRecord(TableRecord* record) {
  if (record->composition) {
    if (record->tiers.empty() && ComposedFits(*record)) return Status::Ok();
    return Contradiction(*record).WithContext("composed table");
  }
  if (record->info.every_id || !KeysFit(*record)) return Contradiction(*record);
  if (record->tiers.empty()) return RowsFit(*record) ? Status::Ok() : Contradiction(*record);
  uint64_t first = 0;
  for (TableRecord& tier : record->tiers) {
    tier.info.name = record->info.name;
    tier.info.created_unix_s = record->info.created_unix_s;
    tier.first_row = first;
    const bool fits = RowsFit(tier) && tier.info.rows > 0 && tier.tiers.empty() &&
                      tier.info.dim == record->info.dim && tier.info.key_kind == KeyKind::kDense &&
                      !tier.ordered() && tier.info.rows <= record->info.rows - first;
    if (!fits) return Contradiction(tier);
    first += tier.info.rows;
  }
  TableRecord last = LastTier(*record, first);
  if (!RowsFit(last)) return Contradiction(last);
  record->tiers.push_back(std::move(last));
  SumTiers(record);
  return Status::Ok();
}

}  // namespace

std::string Composition::ToString() const {
  std::string out(ComposedOpName(op));
  for (size_t i = 0; i < parts.size(); ++i) {
    out += (i == 0 ? "(" : ", ") + ComposedPartText(parts[i]);
  }
  return out + ")";
}

std::string EncodeStoreRecord(const StoreRecord& record) {
  std::string out;
  AddNumber(kCommits, record.commits, &out);
  AddNumber(kNextGeneration, record.next_generation, &out);
  return Sealed(std::move(out));
}

Result<StoreRecord> DecodeStoreRecord(std::string_view bytes) {
  StoreRecord record;
  const Status s = ForEachField(bytes, [&](uint16_t tag, std::string_view value) {
    switch (tag) {
      case kCommits:
        return TakeNumber(value, &record.commits);
      case kNextGeneration:
        return TakeNumber(value, &record.next_generation);
      default:
        return false;
    }
  });
  if (!s.ok()) return s.WithContext("catalog record of the store");
  return record;
}

namespace {

// A record as it lies on disk, without its checksum.
std::string TableFields(const TableRecord& r) {
  std::string out;
  AddNumber(kGeneration, r.info.generation, &out);
  AddNumber(kKeyKind, static_cast<uint64_t>(r.info.key_kind), &out);
  AddField(kCodec, r.info.codec.ToString(), &out);
  AddNumber(kDim, r.info.dim, &out);
  AddNumber(kRows, r.info.rows, &out);
  AddNumber(kRowBytes, r.info.row_bytes, &out);
  AddNumber(kChunkRows, r.info.chunk_rows, &out);
  AddNumber(kChunkBytes, r.chunk_bytes, &out);
  AddNumber(kChunkCount, r.info.chunk_count, &out);
  AddNumber(kKeyPages, r.key_pages, &out);
  AddNumber(kKeysPerPage, r.keys_per_page, &out);
  AddNumber(kIndexBuckets, r.index_buckets, &out);
  AddNumber(kChunkFiles, r.chunk_files, &out);
  AddNumber(kKeyFiles, r.key_files, &out);
  AddNumber(kChunkFileBytes, r.info.chunk_file_bytes, &out);
  AddNumber(kKeyFileBytes, r.info.key_file_bytes, &out);
  AddNumber(kCreated, r.info.created_unix_s, &out);
  for (const auto& [name, value] : r.info.metadata) {
    std::string pair;
    AppendLE<uint32_t>(static_cast<uint32_t>(name.size()), &pair);
    AddField(kMetadata, pair + name + value, &out);
  }
  if (r.ordered()) {
    AddNumber(kOrderPages, r.order_pages, &out);
    AddNumber(kOrderEntries, r.order_entries_per_page, &out);
    AddField(kOrderName, r.info.order, &out);
  }
  if (r.info.compression == Compression::kZstd) {
    AddField(kCompression, CompressionName(Compression::kZstd), &out);
    AddNumber(kSizePages, r.size_pages, &out);
    AddNumber(kSizesPerPageTag, r.sizes_per_page, &out);
    AddNumber(kPlainChunkBytes, r.info.plain_chunk_bytes, &out);
  }
  if (r.learned_bytes != 0) AddNumber(kLearnedBytes, r.learned_bytes, &out);
  if (r.composition) {
    AddNumber(kComposedOp, static_cast<uint64_t>(r.composition->op), &out);
    for (const ComposedPart& part : r.composition->parts) {
      AddField(kComposedPart, PartBytes(part), &out);
    }
    if (r.info.every_id) AddNumber(kEveryId, 1, &out);
  }
  return out;
}

}  // namespace

void AddTiers(std::vector<TableRecord> hot, TableRecord* record) {
  uint64_t first = 0;
  for (TableRecord& tier : hot) {
    tier.first_row = first;
    first += tier.info.rows;
  }
  record->tiers = std::move(hot);
  record->tiers.push_back(LastTier(*record, first));
  SumTiers(record);
}

std::string EncodeTableRecord(const TableRecord& record) {
  if (record.tiers.empty()) return Sealed(TableFields(record));
  // The last tier's numbers, with the keys, the order and the rows of the whole table.
  TableRecord whole = record;
  const TableInfo& last = record.tiers.back().info;
  whole.info.chunk_count = last.chunk_count;
  whole.info.chunk_file_bytes = last.chunk_file_bytes;
  whole.info.key_file_bytes = last.key_file_bytes;
  whole.info.plain_chunk_bytes = last.plain_chunk_bytes;
  whole.info.compression = last.compression;
  std::string out = TableFields(whole);
  for (size_t t = 0; t + 1 < record.tiers.size(); ++t) {
    AddField(kTier, TableFields(record.tiers[t]), &out);
  }
  return Sealed(std::move(out));
}

Result<TableRecord> DecodeTableRecord(std::string_view name, std::string_view bytes) {
  TableRecord record;
  record.info.name = name;
  Status s = ForEachField(bytes, [&](uint16_t tag, std::string_view value) {
    return TakeTableField(tag, value, &record);
  });
  if (s.ok()) s = CheckTableRecord(&record);
  if (s.ok() && record.composition) record.info.composition = record.composition->ToString();
  if (!s.ok()) return s.WithContext("catalog record of table '" + std::string(name) + "'");
  return record;
}

}  // namespace edo::storage
