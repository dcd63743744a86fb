// The loop of Table::MakePipeline: batches read ahead of the one that is being computed on.
#pragma once

#include <memory>

#include "edo/pipeline.h"

namespace edo::engine {

class InnerTable;

Result<std::unique_ptr<Pipeline>> StartPipeline(const InnerTable* table, KeySource source,
                                                const PipelineOptions& options);

}  // namespace edo::engine
