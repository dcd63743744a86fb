// AdviseCodec: the ladder tried on a sample of a table or a file.
#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "edo/codec_choice.h"
#include "engine/codec_trials.h"
#include "engine/composed_table.h"
#include "engine/row_sample.h"
#include "engine/table_impl.h"
#include "storage/row_reader.h"

namespace edo {
namespace {

std::function<Status()> StepOf(const AdviseCodecOptions& options, uint64_t* done, uint64_t total) {
  return [&options, done, total] {
    if (!options.progress || options.progress({*done, total, 0, "codecs"})) return Status::Ok();
    return Status::Cancelled("the advice was cancelled");
  };
}

Result<CodecAdvice> Advise(std::vector<float> sample, uint32_t dim, uint64_t rows,
                           const AdviseCodecOptions& options) {
  const engine::TrialRows trial_rows(std::move(sample), dim, options);
  CodecAdvice advice;
  advice.rows = rows;
  advice.dim = dim;
  advice.rows_learned = trial_rows.learn().size() / dim;
  advice.rows_tested = trial_rows.test().size() / dim;
  advice.held_out = trial_rows.held_out();
  uint64_t done = 0;
  const bool has_goal = !options.goal.quality.empty() || options.goal.max_bytes;
  const std::vector<CodecSpec> ladder = options.codecs.empty() ? CodecLadder(dim) : options.codecs;
  const auto step = StepOf(options, &done, ladder.size());
  for (const CodecSpec& codec : ladder) {
    EDO_ASSIGN_OR_RETURN(CodecTrial trial,
                         engine::TryCodec(codec, trial_rows, rows, options, step));
    advice.trials.push_back(std::move(trial));
    ++done;
  }
  if (has_goal && options.codecs.empty()) {
    // Rungs between those of the ladder, where they could be the best.
    EDO_RETURN_IF_ERROR(engine::TryForGoal(trial_rows, rows, options, step, &advice.trials));
  }
  std::stable_sort(advice.trials.begin(), advice.trials.end(),
                   [](const CodecTrial& a, const CodecTrial& b) { return a.bytes > b.bytes; });
  if (has_goal) {
    const CodecTrial* const best = engine::BestOf(options.goal, advice.trials);
    if (best != nullptr) advice.best = best->codec;
  }
  return advice;
}

}  // namespace

Status CodecGoal::Validate() const {
  if (max_bytes && *max_bytes == 0) return Status::InvalidArgument("max_bytes is 0");
  return quality.Validate();
}

Status AdviseCodecOptions::Validate() const {
  if (test_rows == 0) return Status::InvalidArgument("advice on a codec needs rows to test: 0");
  return goal.Validate();
}

Result<CodecAdvice> AdviseCodec(const Table& table, const AdviseCodecOptions& options) {
  EDO_RETURN_IF_ERROR(options.Validate());
  EDO_RETURN_IF_ERROR(engine::RefuseComposed(table, "advice on a codec"));
  const auto* const impl = dynamic_cast<const engine::TableImpl*>(&table);
  if (impl == nullptr) {
    return Status::InvalidArgument("AdviseCodec needs a table of a store that EDO opened");
  }
  const TableInfo& info = table.info();
  EDO_ASSIGN_OR_RETURN(std::vector<float> sample,
                       engine::SampleOf(*impl, 0, impl->info().rows, options.seed));
  return Advise(std::move(sample), info.dim, info.rows, options);
}

Result<CodecAdvice> AdviseCodec(const SourceOptions& source, const AdviseCodecOptions& options) {
  EDO_RETURN_IF_ERROR(options.Validate());
  EDO_ASSIGN_OR_RETURN(const auto reader, storage::OpenRowReader(source));
  const storage::SourceInfo& info = reader->info();
  if (info.codec) {
    return Status::Unsupported(source.path +
                               ": an edo archive holds codes already; import it and ask about the "
                               "table");
  }
  engine::RowSample sample(info.dim, storage::SampleRows(info.dim));
  storage::RowBatch batch;
  for (;;) {
    EDO_ASSIGN_OR_RETURN(const bool more, reader->Next(&batch));
    if (!more) break;
    sample.Offer(std::span(batch.values).first(batch.row_count * batch.dim));
    if (options.progress &&
        !options.progress({reader->bytes_read(), reader->bytes_total(), sample.seen(), "bytes"})) {
      return Status::Cancelled("the reading of " + source.path + " was cancelled");
    }
  }
  const uint64_t rows = sample.seen();
  return Advise(sample.Take(), info.dim, rows, options);
}

}  // namespace edo
