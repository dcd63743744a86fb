// Recode: rows through another codec into a new generation; keys and order are copied as pages.
#include "edo/recode.h"

#include <utility>

#include "engine/composed_table.h"
#include "engine/store_impl.h"
#include "engine/table_impl.h"
#include "engine/table_recoder.h"

namespace edo {

Result<RecodeReport> Recode(Store* store, const RecodeOptions& options) {
  auto* const impl = dynamic_cast<engine::StoreImpl*>(store);
  if (impl == nullptr) return Status::InvalidArgument("Recode needs a store that EDO opened");
  EDO_RETURN_IF_ERROR(impl->CheckWritable());
  EDO_ASSIGN_OR_RETURN(const auto handle, impl->OpenTable(options.table, {}));
  EDO_RETURN_IF_ERROR(engine::RefuseComposed(*handle, "recode"));
  const auto& table = dynamic_cast<const engine::TableImpl&>(*handle);
  engine::RecodeWork work;
  work.hot = options.hot;
  work.codec = options.codec;
  work.choose_codec = options.choose_codec;
  work.compression = options.compression;
  work.threads = options.threads;
  work.step = [&](uint64_t done) -> Status {
    if (!options.progress || options.progress({done, table.info().rows, done, "rows"})) {
      return Status::Ok();
    }
    return Status::Cancelled("recoding of table '" + options.table + "' was cancelled");
  };
  engine::TableRecoder recoder(impl, table, std::move(work));
  RecodeReport report;
  report.before = report.after = table.info();
  EDO_RETURN_IF_ERROR(recoder.MakeCodecs());
  report.unchanged = recoder.unchanged();
  if (report.unchanged) return report;
  EDO_RETURN_IF_ERROR(recoder.Write());
  report.dropped_refinement = recoder.dropped_refinement();
  storage::TableRecord record = recoder.record();
  record.info.metadata.erase("edo.codec.choice");  // it spoke of the old codec
  if (!recoder.figures().empty()) record.info.metadata["edo.codec.choice"] = recoder.figures();
  report.after = record.info;
  EDO_RETURN_IF_ERROR(impl->CommitRecoded(std::move(record), table.info().generation,
                                          recoder.files(), recoder.hot()));
  return report;
}

}  // namespace edo
