// One function a format; open_writer.cc chooses among them. `target.format` is set and the options
// fit it.
#pragma once

#include <memory>

#include "storage/row_writer.h"

namespace edo::storage {

std::unique_ptr<RowWriter> MakeTextWriter(const TargetInfo& target);  // word2vec glove fasttext
std::unique_ptr<RowWriter> MakeWord2vecBinaryWriter(const TargetInfo& target);
std::unique_ptr<RowWriter> MakeDelimitedWriter(const TargetInfo& target);  // csv tsv
std::unique_ptr<RowWriter> MakeJsonlWriter(const TargetInfo& target);
std::unique_ptr<RowWriter> MakeNpyWriter(const TargetInfo& target);
std::unique_ptr<RowWriter> MakeRawWriter(const TargetInfo& target);
std::unique_ptr<RowWriter> MakeSafetensorsWriter(const TargetInfo& target);
std::unique_ptr<RowWriter> MakeArchiveWriter(const TargetInfo& target);

}  // namespace edo::storage
