#include "engine/word_rows.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>

#include "engine/composed_table.h"
#include "engine/table_impl.h"
#include "storage/codec.h"
#include "storage/row_reader.h"

namespace edo::engine {
namespace {

constexpr size_t kBatchRows = 4096;

// Row numbers of the first places of the source.
Result<std::vector<uint64_t>> FirstRows(const TableImpl& table, uint64_t count) {
  std::vector<uint64_t> places(std::min(count, table.info().rows));
  std::iota(places.begin(), places.end(), uint64_t{0});
  if (!table.record().ordered()) return places;
  storage::FindResult found = table.order().RowsOf(places, std::nullopt);
  if (!found.failures.empty()) return found.failures[0].status;
  return std::move(found.rows);
}

}  // namespace

void WordRows::Add(std::string_view word, const float* values) {
  double squares = 0;
  for (uint32_t c = 0; c < dim_; ++c) squares += double{values[c]} * double{values[c]};
  index_.emplace(word, directed_.size());
  directed_.push_back(std::isfinite(squares) && squares > 0);
  values_.insert(values_.end(), values, values + dim_);
}

std::optional<size_t> WordRows::Find(const std::string& word) const {
  const auto found = index_.find(word);
  if (found == index_.end() || !directed_[found->second]) return std::nullopt;
  return found->second;
}

Result<WordRows> WordRows::OfTable(const Table& table, uint64_t first_rows,
                                   const std::unordered_set<std::string>& words) {
  const TableInfo& info = table.info();
  EDO_RETURN_IF_ERROR(RefuseComposed(table, "a test of words"));
  const auto* impl = dynamic_cast<const TableImpl*>(&table);
  if (impl == nullptr) return Status::InvalidArgument("words need a table that EDO opened");
  if (info.key_kind != KeyKind::kText) {
    return Status::InvalidArgument("table '" + info.name + "' has " +
                                   std::string(KeyKindName(info.key_kind)) +
                                   " keys; words need a table of text keys");
  }
  WordRows out;
  out.dim_ = info.dim;
  std::vector<float> values;
  EDO_ASSIGN_OR_RETURN(const std::vector<uint64_t> first, FirstRows(*impl, first_rows));
  for (size_t begin = 0; begin < first.size(); begin += kBatchRows) {
    const auto rows = std::span(first).subspan(begin, std::min(kBatchRows, first.size() - begin));
    EDO_ASSIGN_OR_RETURN(const auto keys, table.TextKeysOf(rows));
    values.resize(rows.size() * info.dim);
    EDO_RETURN_IF_ERROR(table.LookupRows(rows, {}, values.data(), nullptr));
    for (size_t i = 0; i < rows.size(); ++i) out.Add(keys[i], values.data() + i * info.dim);
  }
  out.vocabulary_ = first.size();
  std::vector<std::string_view> others;
  for (const std::string& word : words) {
    if (!out.index_.contains(word)) others.push_back(word);
  }
  std::sort(others.begin(), others.end());
  LookupReport report;
  for (size_t begin = 0; begin < others.size(); begin += kBatchRows) {
    const auto keys = std::span<const std::string_view>(others).subspan(
        begin, std::min(kBatchRows, others.size() - begin));
    values.resize(keys.size() * info.dim);
    EDO_RETURN_IF_ERROR(table.Lookup(keys, {}, values.data(), &report));
    for (size_t i = 0; i < keys.size(); ++i) {
      if (report.states[i] == RowState::kFound) out.Add(keys[i], values.data() + i * info.dim);
    }
  }
  return out;
}

Result<WordRows> WordRows::OfFile(const SourceOptions& source, uint64_t first_rows,
                                  const std::unordered_set<std::string>& words) {
  EDO_ASSIGN_OR_RETURN(const auto reader, storage::OpenRowReader(source));
  const storage::SourceInfo& info = reader->info();
  if (info.key_kind != KeyKind::kText) {
    return Status::InvalidArgument(source.path + " has " + std::string(KeyKindName(info.key_kind)) +
                                   " keys; words need text keys");
  }
  std::unique_ptr<storage::Codec> codec;
  if (info.codec) {
    EDO_ASSIGN_OR_RETURN(codec, storage::Codec::Make(*info.codec, info.dim, info.learned));
  }
  WordRows out;
  out.dim_ = info.dim;
  std::vector<float> decoded(info.dim);
  storage::RowBatch batch;
  for (;;) {
    EDO_ASSIGN_OR_RETURN(const bool more, reader->Next(&batch));
    if (!more) break;
    for (size_t i = 0; i < batch.row_count; ++i) {
      const std::string key(batch.text_key(i));
      const bool in_vocabulary = out.vocabulary_ < first_rows;
      if (out.index_.contains(key) || (!in_vocabulary && !words.contains(key))) continue;
      const float* row = codec == nullptr ? batch.row(i) : decoded.data();
      if (codec != nullptr) {
        codec->Decode(batch.codes.data() + i * codec->row_bytes(), 1, {decoded.data()});
      }
      out.Add(key, row);
      if (in_vocabulary) ++out.vocabulary_;
    }
  }
  return out;
}

}  // namespace edo::engine
