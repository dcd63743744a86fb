// Export: a table's rows in the order of their source, or chosen rows, into a RowWriter.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "edo/transfer.h"
#include "engine/composed_table.h"
#include "engine/table_impl.h"
#include "storage/row_writer.h"

namespace edo {
namespace {

using engine::StoreContext;
using engine::TableImpl;
using storage::RowBatch;
using storage::RowWriter;

constexpr uint64_t kBatchRows = 4096;
constexpr uint64_t kBatchValues = 1 << 20;

class Exporter {
 public:
  // `stored` null: a composed table, whose rows are values wherever others have codes.
  Exporter(const Table& table, const TableImpl* stored, const StoreContext& context,
           const ExportOptions& options)
      : table_(table), stored_(stored), context_(context), options_(options) {}

  Result<ExportReport> Run() {
    if (table_.info().every_id && options_.ids.empty()) {
      return Status::InvalidArgument("table '" + table_.info().name +
                                     "' holds every 64-bit id; name those to export in a file "
                                     "(--ids)");
    }
    EDO_RETURN_IF_ERROR(CheckTarget());
    if (!options_.ids.empty()) EDO_RETURN_IF_ERROR(ReadIds());
    rows_ = options_.ids.empty() ? table_.info().rows : chosen_.size();
    EDO_ASSIGN_OR_RETURN(writer_, storage::OpenRowWriter(Target()));
    EDO_RETURN_IF_ERROR(CheckKeys());
    EDO_RETURN_IF_ERROR(writer_->Begin());
    if (!options_.ids.empty()) {
      EDO_RETURN_IF_ERROR(CopyChosen());
    } else if (stored_ != nullptr && stored_->record().ordered()) {
      EDO_RETURN_IF_ERROR(CopyInSourceOrder());
    } else if (stored_ != nullptr && writer_->wants_codes() && !mixed()) {
      EDO_RETURN_IF_ERROR(CopyCodes());
    } else {
      EDO_RETURN_IF_ERROR(CopyRows());
    }
    EDO_RETURN_IF_ERROR(writer_->Finish());
    return ExportReport{writer_->format(), rows_, writer_->files(), writer_->bytes_written()};
  }

 private:
  // A file of the store itself must never be the target.
  Status CheckTarget() const {
    if (options_.path == "-" || context_.directory.empty()) return Status::Ok();
    std::error_code ignored;
    const std::filesystem::path folder = std::filesystem::path(options_.path).parent_path();
    if (!std::filesystem::equivalent(folder.empty() ? "." : folder, context_.directory, ignored)) {
      return Status::Ok();
    }
    return Status::InvalidArgument("'" + options_.path + "' lies inside the store '" +
                                   context_.directory + "'; export to another directory");
  }

  storage::TargetInfo Target() const {
    const TableInfo& info = table_.info();
    storage::TargetInfo target;
    target.path = options_.path;
    target.format = options_.format;
    target.dtype = options_.dtype;
    target.force = options_.force;
    target.key_kind = KindOfOutput();
    if (!mixed()) {
      target.codec = info.codec;
      target.learned = table_.Learned();
      target.row_bytes = info.row_bytes;
    } else {  // an archive has one codec: the one that keeps the rows as they decode
      target.row_bytes = target.codec.RowBytes(info.dim);
    }
    target.dim = info.dim;
    target.rows = rows_;
    target.table = info.name;
    target.metadata = info.metadata;
    return target;
  }

  bool mixed() const { return !table_.info().tiers.empty(); }
  // Chosen rows of a dense table keep their row numbers, as integer keys.
  KeyKind KindOfOutput() const {
    const KeyKind kind = table_.info().key_kind;
    return kind == KeyKind::kDense && !options_.ids.empty() ? KeyKind::kInt64 : kind;
  }

  Status Step(uint64_t rows) {
    done_ += rows;
    if (options_.progress && !options_.progress({done_, rows_, done_, "rows"})) {
      return Status::Cancelled("the export of table '" + table_.info().name + "' was cancelled");
    }
    return Status::Ok();
  }

  // The ids file: one key a line. Fills chosen_ with row numbers.
  Status ReadIds() {
    std::ifstream file;
    if (options_.ids != "-") {
      file.open(options_.ids, std::ios::binary);
      if (!file) return Status::NotFound("cannot read the ids file '" + options_.ids + "'");
    }
    std::istream& in = options_.ids == "-" ? std::cin : file;
    std::string line;
    std::vector<std::string> lines;
    uint64_t number = 0;
    while (std::getline(in, line)) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      lines.push_back(std::move(line));
      if (lines.size() == kBatchRows) EDO_RETURN_IF_ERROR(Resolve(&lines, &number));
    }
    if (in.bad()) return Status::IoError("cannot read the ids file '" + options_.ids + "'");
    return Resolve(&lines, &number);
  }

  Status Resolve(std::vector<std::string>* lines, uint64_t* number) {
    Result<std::vector<uint64_t>> rows = std::vector<uint64_t>();
    if (table_.info().key_kind == KeyKind::kText) {
      const std::vector<std::string_view> tokens(lines->begin(), lines->end());
      rows = table_.FindRows(std::span<const std::string_view>(tokens));
    } else {
      std::vector<int64_t> ids;
      for (size_t i = 0; i < lines->size(); ++i) {
        const std::string& text = (*lines)[i];
        int64_t id = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
        if (error != std::errc() || end != text.data() + text.size()) {
          return Status::BadInput(options_.ids + " line " + std::to_string(*number + i + 1) +
                                  ": found '" + text + "', expected an integer key");
        }
        ids.push_back(id);
      }
      // Without row numbers a row is chosen by its id; every id is there.
      rows = table_.info().every_id ? std::vector<uint64_t>(ids.begin(), ids.end())
                                    : table_.FindRows(std::span<const int64_t>(ids));
    }
    if (!rows.ok()) return rows.status();
    for (size_t i = 0; i < rows->size(); ++i) {
      if (!table_.info().every_id && (*rows)[i] == Table::kMissingRow) {
        return Status::NotFound(options_.ids + " line " + std::to_string(*number + i + 1) +
                                ": table '" + table_.info().name + "' has no key '" + (*lines)[i] +
                                "'");
      }
      chosen_.push_back((*rows)[i]);
    }
    *number += lines->size();
    lines->clear();
    return Status::Ok();
  }

  // A format that cannot hold a key says so before any file is made.
  Status CheckKeys() {
    if (table_.info().key_kind != KeyKind::kText) return Status::Ok();
    if (!options_.ids.empty()) {
      for (uint64_t begin = 0; begin < chosen_.size(); begin += kBatchRows) {
        const auto rows = ChosenFrom(begin);
        EDO_ASSIGN_OR_RETURN(const std::vector<std::string> keys, table_.TextKeysOf(rows));
        for (size_t i = 0; i < keys.size(); ++i) {
          EDO_RETURN_IF_ERROR(writer_->CheckKey(keys[i], rows[i]));
        }
      }
      return Status::Ok();
    }
    if (stored_->record().ordered()) {
      return ForEachWindow([&](uint64_t first, std::span<const uint64_t> rows) -> Status {
        EDO_ASSIGN_OR_RETURN(const std::vector<std::string> keys, table_.TextKeysOf(rows));
        for (size_t i = 0; i < keys.size(); ++i) {
          EDO_RETURN_IF_ERROR(writer_->CheckKey(keys[i], first + i));
        }
        return Status::Ok();
      });
    }
    ScanOptions scan_options;
    scan_options.values = false;
    EDO_ASSIGN_OR_RETURN(const auto scan, table_.Scan(scan_options));
    for (;;) {
      ScanBatch batch;
      EDO_ASSIGN_OR_RETURN(const bool more, scan->Next(&batch));
      if (!more) return Status::Ok();
      for (size_t i = 0; i < batch.text_keys.size(); ++i) {
        EDO_RETURN_IF_ERROR(writer_->CheckKey(batch.text_keys[i], batch.first_row + i));
      }
    }
  }

  std::span<const uint64_t> ChosenFrom(uint64_t begin) const {
    return std::span<const uint64_t>(chosen_).subspan(
        begin, std::min<uint64_t>(kBatchRows, chosen_.size() - begin));
  }

  void StartBatch(uint64_t first_row, uint64_t count) {
    batch_.Clear();
    batch_.row_count = count;
    batch_.dim = table_.info().dim;
    for (uint64_t i = 0; i < count; ++i) batch_.positions.push_back(first_row + i);
  }

  Status CopyRows() {
    EDO_ASSIGN_OR_RETURN(const auto scan, table_.Scan({}));
    for (;;) {
      ScanBatch rows;
      EDO_ASSIGN_OR_RETURN(const bool more, scan->Next(&rows));
      if (!more) return Status::Ok();
      StartBatch(rows.first_row, rows.row_count);
      TakeValues(rows.values);
      AddKeys(rows);
      EDO_RETURN_IF_ERROR(writer_->Append(batch_));
      EDO_RETURN_IF_ERROR(Step(rows.row_count));
    }
  }

  // As codes of F32 where the writer wants codes: those keep rows that have none, or of several
  // codecs, as they decode.
  void TakeValues(std::span<const float> values) {
    if (!writer_->wants_codes()) {
      batch_.values.assign(values.begin(), values.end());
      return;
    }
    const auto* const codes = reinterpret_cast<const std::byte*>(values.data());
    batch_.codes.assign(codes, codes + values.size_bytes());
  }

  void AddKeys(const ScanBatch& rows) {
    batch_.int_keys.assign(rows.int_keys.begin(), rows.int_keys.end());
    for (const std::string_view key : rows.text_keys) batch_.AddTextKey(key);
  }

  // Codes chunk by chunk, with the keys of the same rows from a scan beside it.
  Status CopyCodes() {
    ScanOptions key_options;
    key_options.values = false;
    EDO_ASSIGN_OR_RETURN(const auto keys, table_.Scan(key_options));
    const uint64_t row_bytes = table_.info().row_bytes;
    std::string pending;  // codes of rows whose keys have not come yet
    ScanBatch rows;
    const auto flush = [&](bool last) -> Status {
      for (;;) {
        if (rows.row_count == 0) {
          EDO_ASSIGN_OR_RETURN(const bool more, keys->Next(&rows));
          if (!more) return Status::Ok();
        }
        if (pending.size() < rows.row_count * row_bytes) break;
        StartBatch(rows.first_row, rows.row_count);
        AddKeys(rows);
        const auto* codes = reinterpret_cast<const std::byte*>(pending.data());
        batch_.codes.assign(codes, codes + rows.row_count * row_bytes);
        pending.erase(0, rows.row_count * row_bytes);
        EDO_RETURN_IF_ERROR(writer_->Append(batch_));
        EDO_RETURN_IF_ERROR(Step(rows.row_count));
        rows = {};
      }
      if (!last) return Status::Ok();
      return Status::Corruption("table '" + table_.info().name + "' ends before its keys do");
    };
    EDO_RETURN_IF_ERROR(stored_->ScanCodes(
        [&](const engine::Tier&, uint64_t, uint64_t, std::string_view codes) -> Status {
          pending.append(codes);
          return pending.size() >= (1 << 20) ? flush(false) : Status::Ok();
        }));
    return flush(true);
  }

  // Of a row on its way through memory: as codes where those are wanted, else as values.
  uint64_t RowBytes() const {
    return writer_->wants_codes() && !mixed() ? table_.info().row_bytes
                                              : uint64_t{table_.info().dim} * sizeof(float);
  }

  // Rows in the order of the source, a window at a time: fn(place of the first, row numbers).
  Status ForEachWindow(
      const std::function<Status(uint64_t first, std::span<const uint64_t> rows)>& fn) const {
    const uint64_t window = context_.order_limits.WindowRows(RowBytes());
    std::vector<uint64_t> places;
    for (uint64_t first = 0; first < table_.info().rows; first += window) {
      places.resize(std::min(window, table_.info().rows - first));
      std::iota(places.begin(), places.end(), first);
      const storage::FindResult found = stored_->order().RowsOf(places, std::nullopt);
      if (!found.failures.empty()) return found.failures[0].status;
      EDO_RETURN_IF_ERROR(fn(first, found.rows));
    }
    return Status::Ok();
  }

  // Of a table in another order than its source's: of each chunk and key page one read a window.
  Status CopyInSourceOrder() {
    const TableInfo& info = table_.info();
    const bool codes_wanted = writer_->wants_codes() && !mixed();
    std::vector<std::byte> codes;  // or values
    std::vector<int64_t> ints;
    std::vector<std::string> texts;
    return ForEachWindow([&](uint64_t first, std::span<const uint64_t> rows) -> Status {
      codes.resize(rows.size() * RowBytes());
      EDO_RETURN_IF_ERROR(codes_wanted
                              ? stored_->ReadCodes(rows, codes.data())
                              : stored_->ReadValues(rows, reinterpret_cast<float*>(codes.data())));
      if (info.key_kind == KeyKind::kText) {
        EDO_ASSIGN_OR_RETURN(texts, table_.TextKeysOf(rows));
      } else if (info.key_kind == KeyKind::kInt64) {
        EDO_ASSIGN_OR_RETURN(ints, table_.IntKeysOf(rows));
      }
      const uint64_t most = std::clamp<uint64_t>(kBatchValues / info.dim, 1, kBatchRows);
      for (uint64_t begin = 0; begin < rows.size(); begin += most) {
        const uint64_t count = std::min<uint64_t>(most, rows.size() - begin);
        StartBatch(first + begin, count);
        for (uint64_t i = begin; i < begin + count && !texts.empty(); ++i) {
          batch_.AddTextKey(texts[i]);
        }
        if (!ints.empty()) {
          batch_.int_keys.assign(ints.begin() + static_cast<ptrdiff_t>(begin),
                                 ints.begin() + static_cast<ptrdiff_t>(begin + count));
        }
        const std::byte* const of_batch = codes.data() + begin * RowBytes();
        if (writer_->wants_codes()) {
          batch_.codes.assign(of_batch, of_batch + count * RowBytes());
        } else {
          const auto* const values = reinterpret_cast<const float*>(of_batch);
          batch_.values.assign(values, values + count * info.dim);
        }
        EDO_RETURN_IF_ERROR(writer_->Append(batch_));
        EDO_RETURN_IF_ERROR(Step(count));
      }
      return Status::Ok();
    });
  }

  Status CopyChosen() {
    const TableInfo& info = table_.info();
    for (uint64_t begin = 0; begin < chosen_.size(); begin += kBatchRows) {
      const auto rows = ChosenFrom(begin);
      StartBatch(begin, rows.size());
      if (info.key_kind == KeyKind::kText) {
        EDO_ASSIGN_OR_RETURN(const std::vector<std::string> keys, table_.TextKeysOf(rows));
        for (const std::string& key : keys) batch_.AddTextKey(key);
      } else if (stored_ == nullptr) {  // ids, which are its keys
        batch_.int_keys.assign(rows.begin(), rows.end());
      } else {
        EDO_ASSIGN_OR_RETURN(batch_.int_keys, table_.IntKeysOf(rows));
      }
      if (stored_ == nullptr) {
        std::vector<float> values(rows.size() * info.dim);
        EDO_RETURN_IF_ERROR(
            table_.Lookup(std::span<const int64_t>(batch_.int_keys), {}, values.data(), nullptr));
        TakeValues(values);
      } else if (writer_->wants_codes() && !mixed()) {
        batch_.codes.resize(rows.size() * info.row_bytes);
        EDO_RETURN_IF_ERROR(stored_->ReadCodes(rows, batch_.codes.data()));
      } else {
        std::vector<float> values(rows.size() * info.dim);
        EDO_RETURN_IF_ERROR(table_.LookupRows(rows, {}, values.data(), nullptr));
        TakeValues(values);
      }
      EDO_RETURN_IF_ERROR(writer_->Append(batch_));
      EDO_RETURN_IF_ERROR(Step(rows.size()));
    }
    return Status::Ok();
  }

  const Table& table_;
  const TableImpl* const stored_;
  const StoreContext& context_;
  const ExportOptions& options_;
  std::unique_ptr<RowWriter> writer_;
  std::vector<uint64_t> chosen_;
  uint64_t rows_ = 0;
  uint64_t done_ = 0;
  RowBatch batch_;
};

}  // namespace

Result<ExportReport> Export(const Table& table, const ExportOptions& options) {
  if (const auto* composed = dynamic_cast<const engine::ComposedTable*>(&table)) {
    return Exporter(table, nullptr, composed->context(), options).Run();
  }
  const auto* impl = dynamic_cast<const TableImpl*>(&table);
  if (impl == nullptr) return Status::InvalidArgument("Export needs a table that EDO opened");
  return Exporter(*impl, impl, impl->context(), options).Run();
}

}  // namespace edo
