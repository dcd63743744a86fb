// Composed tables in the catalog: making, checking and opening them. Rows are composed_table.h.
#include "edo/compose.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "engine/composed_table.h"
#include "engine/store_impl.h"
#include "engine/table_impl.h"

namespace edo {
namespace engine {
namespace {

constexpr size_t kMostParts = 64;

Status CheckParameters(const ComposedPart& part, const ComposedOptions& options) {
  const auto wrong = [&](const std::string& what) {
    return Status::InvalidArgument("part '" + ComposedPartText(part) + "': " + what);
  };
  const bool hashed = part.hash == PartHash::kAffine || part.hash == PartHash::kMurmur3;
  if (!hashed && part.divisor == 0) return wrong("divisor 0; expected 1 or more");
  if (part.hash == PartHash::kAffine && part.p == 0) return wrong("p is 0; expected a prime");
  if (part.hash == PartHash::kMurmur3 && part.word > 3) return wrong("words are 0 to 3");
  if (!std::isfinite(part.weight)) return wrong("the weight is not finite");
  const bool quotient = part.hash == PartHash::kQuotient || part.hash == PartHash::kQuotientF32;
  if (quotient && options.rows == 0) {
    return wrong("a quotient needs to know how many ids there are: rows is 0");
  }
  return Status::Ok();
}

bool Names(const storage::TableRecord& record, std::string_view part) {
  if (!record.composition) return false;
  const auto is_it = [&](const ComposedPart& named) { return named.table == part; };
  return std::ranges::any_of(record.composition->parts, is_it);
}

}  // namespace

std::string StoreImpl::ComposedOf(std::string_view part) const {
  for (const auto& [name, entry] : tables_) {
    if (Names(entry.record, part)) return name;
  }
  return {};
}

void StoreImpl::WarnOfUnfit(std::string_view part) const {
  const std::string quoted = "'" + std::string(part) + "'";
  for (const auto& [name, entry] : tables_) {
    if (!Names(entry.record, part)) continue;
    const Status s = CheckComposed(entry.record);
    if (s.ok()) continue;
    context_->Log(LogLevel::kWarning, "composed table '" + name + "' cannot be read now: " +
                                          std::string(s.message()) + "; import a table " + quoted +
                                          " that fits, or compose '" + name + "' anew or drop it");
  }
}

Result<storage::TableRecord> StoreImpl::ComposedRecord(std::string_view name,
                                                       const ComposedOptions& options) const {
  if (options.parts.empty() || options.parts.size() > kMostParts) {
    return Status::InvalidArgument(std::to_string(options.parts.size()) +
                                   " parts; allowed are 1 to " + std::to_string(kMostParts));
  }
  if (options.rows > kMaxRows) {
    return Status::InvalidArgument("rows " + std::to_string(options.rows) + "; at most " +
                                   std::to_string(kMaxRows) + " fit a table");
  }
  storage::TableRecord record;
  record.composition.emplace();
  record.composition->op = options.op;
  std::vector<const TableInfo*> infos;
  for (ComposedPart part : options.parts) {
    if (part.table == name) {
      return Status::InvalidArgument("part '" + ComposedPartText(part) +
                                     "': a table cannot be a part of itself");
    }
    EDO_RETURN_IF_ERROR(CheckParameters(part, options));
    const auto found = tables_.find(part.table);
    if (found == tables_.end()) {
      return UnknownTable(part.table).WithContext("part '" + ComposedPartText(part) + "'");
    }
    const storage::TableRecord& of_part = found->second.record;
    if (part.hash == PartHash::kAffine || part.hash == PartHash::kMurmur3) {
      if (part.buckets == 0) part.buckets = of_part.info.rows;
      if (part.buckets == 0) {
        return Status::InvalidArgument("part '" + ComposedPartText(part) + "': table '" +
                                       part.table + "' has no rows");
      }
    } else {
      part.buckets = 0;
    }
    EDO_RETURN_IF_ERROR(CheckPart(part, of_part, options.rows));
    infos.push_back(&of_part.info);
    record.composition->parts.push_back(std::move(part));
  }
  EDO_ASSIGN_OR_RETURN(record.info.dim, ComposedDim(options.op, infos));
  record.info.name = name;
  record.info.every_id = options.rows == 0;
  record.info.key_kind = options.rows == 0 ? KeyKind::kInt64 : KeyKind::kDense;
  record.info.rows = options.rows;
  record.info.row_bytes = uint64_t{record.info.dim} * 4;
  record.info.metadata = options.metadata;
  if (!options.reproducible) {
    record.info.created_unix_s = static_cast<uint64_t>(std::time(nullptr));
  }
  record.info.composition = record.composition->ToString();
  return record;
}

Status StoreImpl::CheckComposed(const storage::TableRecord& record) const {
  const auto contradicts = [](const Status& s) {
    return Status::Corruption(std::string(s.message()));
  };
  std::vector<const TableInfo*> infos;
  for (const ComposedPart& part : record.composition->parts) {
    const auto found = tables_.find(part.table);
    if (found == tables_.end()) {
      return contradicts(
          UnknownTable(part.table).WithContext("part '" + ComposedPartText(part) + "'"));
    }
    const Status s = CheckPart(part, found->second.record, record.info.rows);
    if (!s.ok()) return contradicts(s);
    infos.push_back(&found->second.record.info);
  }
  const Result<uint32_t> dim = ComposedDim(record.composition->op, infos);
  if (!dim.ok()) return contradicts(dim.status());
  if (*dim == record.info.dim) return Status::Ok();
  return Status::Corruption("it was made of dim " + std::to_string(record.info.dim) +
                            ", its parts now have " + std::to_string(*dim));
}

Result<std::unique_ptr<Table>> StoreImpl::OpenComposed(const Entry& entry,
                                                       const ReadOptions& options) const {
  const storage::TableRecord& record = entry.record;
  if (options.read_dims > record.info.dim) {
    return Status::InvalidArgument("table '" + record.info.name + "': read_dims " +
                                   std::to_string(options.read_dims) + " of rows of dim " +
                                   std::to_string(record.info.dim));
  }
  if (const Status s = CheckComposed(record); !s.ok()) {
    return s.WithContext("composed table '" + record.info.name + "'");
  }
  ReadOptions of_parts;
  if (record.composition->op != ComposedOp::kConcat) of_parts.read_dims = options.read_dims;
  std::map<std::string_view, std::shared_ptr<const Table>> opened;
  std::vector<std::shared_ptr<const Table>> parts;
  for (const ComposedPart& part : record.composition->parts) {
    std::shared_ptr<const Table>& table = opened[part.table];
    if (table == nullptr) {
      const Entry& of_part = tables_.find(part.table)->second;
      auto made = TableImpl::Make(context_, of_part.pin, of_part.record, of_parts);
      if (!made.ok()) return made.status().WithContext("composed table '" + record.info.name + "'");
      table = std::move(*made);
    }
    parts.push_back(table);
  }
  return std::unique_ptr<Table>(
      std::make_unique<ComposedTable>(context_, record, std::move(parts)));
}

Result<TableInfo> StoreImpl::Compose(std::string_view name, const ComposedOptions& options) {
  EDO_RETURN_IF_ERROR(CheckWritable());
  EDO_RETURN_IF_ERROR(CheckMayCreate(name, options.replace));
  EDO_ASSIGN_OR_RETURN(const uint64_t generation, NewGeneration());
  const std::unique_lock lock(mutex_);
  const auto old = tables_.find(name);
  if (old != tables_.end() && !options.replace) {
    return Status::AlreadyExists("table '" + std::string(name) +
                                 "' was made by another writer meanwhile");
  }
  const std::string context = "table '" + std::string(name) + "'";
  if (const std::string other = ComposedOf(name); !other.empty()) {
    return Status::InvalidArgument(context + " is a part of composed table '" + other +
                                   "' and cannot become a composed one");
  }
  Result<storage::TableRecord> record = ComposedRecord(name, options);
  if (!record.ok()) return record.status().WithContext(context);
  record->info.generation = generation;
  return CommitComposed(std::move(*record));
}

}  // namespace engine

Result<TableInfo> ComposeTable(Store* store, std::string_view name,
                               const ComposedOptions& options) {
  auto* const impl = dynamic_cast<engine::StoreImpl*>(store);
  if (impl == nullptr) return Status::InvalidArgument("ComposeTable needs a store that EDO opened");
  return impl->Compose(name, options);
}

}  // namespace edo
