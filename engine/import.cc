// Import: a RowReader's rows into a TableWriter.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "edo/transfer.h"
#include "engine/read_ahead.h"
#include "engine/store_impl.h"
#include "storage/row_reader.h"

namespace edo {
namespace {

using storage::RowBatch;
using storage::RowReader;
using storage::SourceInfo;

// The narrowest codec that holds every value of the source's type exactly (f64 is rounded to F32).
CodecSpec ExactCodec(const SourceInfo& source) {
  if (source.codec) return *source.codec;
  CodecSpec codec;
  const std::string& type = source.dtype;
  if (type == "f16" || type == "i8" || type == "u8" || type.starts_with("f8")) {
    codec.kind = CodecKind::kF16;
  } else if (type == "bf16") {
    codec.kind = CodecKind::kBF16;
  }
  return codec;
}

Result<TableOptions> OptionsOf(const ImportOptions& options, const SourceInfo& source) {
  TableOptions table;
  table.key_kind = source.key_kind;
  table.codec = options.codec ? *options.codec : ExactCodec(source);
  table.dim = source.dim;
  table.on_duplicate = options.on_duplicate;
  table.replace = options.replace;
  table.reproducible = options.reproducible;
  table.choose_codec = options.choose_codec;
  if (options.choose_codec && source.codec) {
    return Status::InvalidArgument("the source holds " + source.codec->ToString() +
                                   " codes; no other codec can be chosen for them");
  }
  if (options.codebook && options.choose_codec) {
    return Status::InvalidArgument("a codebook is for one codec; none can be chosen then");
  }
  if (options.codebook && source.codec && !options.source.codes) {
    return Status::InvalidArgument(
        "the archive brings what its codec has learned; a codebook has "
        "no meaning for it");
  }
  if (!options.hot.empty() && source.codec) {
    return Status::InvalidArgument("the source holds " + source.codec->ToString() +
                                   " codes; import them as they are, then recode the table");
  }
  table.hot = options.hot;
  table.learned = source.learned;
  if (options.codebook) {
    EDO_ASSIGN_OR_RETURN(table.learned, MakeLearned(table.codec, table.dim, *options.codebook));
    table.learned_elsewhere = true;
  } else if (options.source.codes) {
    return Status::InvalidArgument("codes mean nothing without the codebook that they are for");
  }
  table.threads = options.threads;
  table.position_unit = source.position_unit;
  table.expected_rows = std::min(source.estimated_rows, options.source.limit);
  table.order = options.order;
  table.compression = options.compression;
  table.progress = options.progress;
  table.metadata = source.metadata;
  for (const auto& [name, value] : options.metadata) table.metadata[name] = value;
  if (source.codec && table.codec != *source.codec) {
    return Status::InvalidArgument("the source holds " + source.codec->ToString() +
                                   " codes; they cannot be imported as " + table.codec.ToString() +
                                   " (leave the codec out to take them as they are)");
  }
  return table;
}

class Importer {
 public:
  Importer(engine::StoreImpl* store, const ImportOptions& options)
      : store_(store), options_(options) {}

  Result<ImportReport> Run() {
    EDO_RETURN_IF_ERROR(store_->CheckMayCreate(options_.table, options_.replace));
    EDO_ASSIGN_OR_RETURN(reader_, storage::OpenRowReader(options_.source));
    EDO_RETURN_IF_ERROR(CheckSkipping());
    EDO_ASSIGN_OR_RETURN(const TableOptions table, OptionsOf(options_, reader_->info()));
    EDO_ASSIGN_OR_RETURN(writer_, store_->CreateTable(options_.table, table));
    EDO_RETURN_IF_ERROR(CopyRows());
    if (rows_ == 0 && reader_->counts().rows_skipped > 0) {
      return Status::BadInput(options_.source.path + ": all " +
                              std::to_string(reader_->counts().rows_skipped) +
                              " rows were bad and would be skipped; no table was made");
    }
    Result<TableInfo> info = writer_->Commit();
    if (!info.ok()) return InFile(info.status());
    NoteDropped();
    return Report(std::move(*info));
  }

 private:
  // Where the row number is the key, a skipped row would give every later row the key of another.
  Status CheckSkipping() const {
    if (options_.source.on_bad_row != OnBadRow::kSkip ||
        reader_->info().key_kind != KeyKind::kDense) {
      return Status::Ok();
    }
    return Status::InvalidArgument(
        options_.source.path +
        ": rows cannot be skipped where row numbers are the keys (each later row would get another "
        "row's number); give a keys file, or keep non-finite values or set them to zero");
  }

  // Errors of the writer name a place in the source; the file's name belongs before it.
  Status InFile(const Status& s) const {
    if (s.code() != StatusCode::kBadInput) return s;
    const std::string& order = options_.order.file;
    if (!order.empty() && s.message().starts_with(order + " line ")) return s;
    return Status::BadInput(options_.source.path + " " + std::string(s.message()));
  }

  Status CopyRows() {
    engine::ReadAhead ahead(reader_.get(), options_.threads);
    std::vector<std::string_view> texts;
    for (;;) {
      const RowBatch* batch = nullptr;
      EDO_ASSIGN_OR_RETURN(const bool more, ahead.Next(&batch));
      if (!more) return Status::Ok();
      TableWriter::Rows rows;
      rows.int_keys = batch->int_keys;
      rows.positions = batch->positions;
      texts.clear();
      for (size_t i = 0; i < batch->key_ends.size(); ++i) texts.push_back(batch->text_key(i));
      rows.text_keys = texts;
      Status s;
      if (reader_->info().codec) {
        s = writer_->AppendCodes(batch->codes, rows);
      } else {
        rows.values = std::span(batch->values).first(batch->row_count * batch->dim);
        s = writer_->Append(rows);
        CountZeroRows(*batch);
      }
      if (!s.ok()) return InFile(s);
      rows_ += batch->row_count;
      if (options_.progress &&
          !options_.progress({reader_->bytes_read(), reader_->bytes_total(), rows_, "bytes"})) {
        return Status::Cancelled("the import of " + options_.source.path + " was cancelled");
      }
    }
  }

  void CountZeroRows(const RowBatch& batch) {
    for (uint64_t i = 0; i < batch.row_count; ++i) {
      const float* row = batch.row(i);
      // Most rows end this at their first value.
      zero_rows_ += std::all_of(row, row + batch.dim, [](float v) { return v == 0; });
    }
  }

  void NoteDropped() const {
    if (!options_.source.note) return;
    const std::string& unit = reader_->info().position_unit;
    for (const DroppedRow& d : writer_->dropped()) {
      options_.source.note({ImportNote::Kind::kDuplicate, d.position, unit, d.key,
                            "key repeats; the row of " + unit + " " +
                                std::to_string(d.kept_position) + " was kept"});
    }
  }

  ImportReport Report(TableInfo info) const {
    const SourceInfo& source = reader_->info();
    const storage::SourceCounts& counts = reader_->counts();
    ImportReport report;
    report.table = std::move(info);
    report.format = source.format;
    report.compression = source.compression;
    report.source_dtype = source.dtype;
    report.position_unit = source.position_unit;
    report.rows_read = counts.rows_read;
    report.rows_skipped = counts.rows_skipped;
    report.rows_duplicate = writer_->dropped().size();
    report.values_changed = counts.values_changed;
    report.keys_changed = counts.keys_changed;
    report.values_non_finite = counts.values_non_finite;
    report.rows_zero = zero_rows_;
    report.input_bytes = reader_->bytes_read();
    report.order = writer_->order_report();
    report.warnings = counts.warnings;
    return report;
  }

  engine::StoreImpl* const store_;
  const ImportOptions& options_;
  std::unique_ptr<RowReader> reader_;
  std::unique_ptr<TableWriter> writer_;
  uint64_t rows_ = 0;
  uint64_t zero_rows_ = 0;
};

}  // namespace

Result<ImportReport> Import(Store* store, const ImportOptions& options) {
  auto* impl = dynamic_cast<engine::StoreImpl*>(store);
  if (impl == nullptr) return Status::InvalidArgument("Import needs a store that EDO opened");
  return Importer(impl, options).Run();
}

}  // namespace edo
