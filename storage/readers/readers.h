// One function a format; each takes over the input (nothing consumed yet) and checks what the
// options say about its format. open_reader.cc chooses among them.
#pragma once

#include <memory>
#include <string>

#include "storage/readers/input.h"
#include "storage/row_reader.h"

namespace edo::storage {

using OpenedReader = Result<std::unique_ptr<RowReader>>;

// `format` is "word2vec", "glove" or "fasttext"; options.header overrules what the name implies.
OpenedReader OpenTextReader(std::unique_ptr<Input> input, const SourceOptions& options,
                            const std::string& format);
OpenedReader OpenWord2vecBinaryReader(std::unique_ptr<Input> input, const SourceOptions& options);
// `format` is "csv" or "tsv".
OpenedReader OpenDelimitedReader(std::unique_ptr<Input> input, const SourceOptions& options,
                                 const std::string& format);
OpenedReader OpenJsonlReader(std::unique_ptr<Input> input, const SourceOptions& options);
OpenedReader OpenNpyReader(std::unique_ptr<Input> input, const SourceOptions& options);
// The same for an array that is part of another file; `info` brings what that one knows.
OpenedReader OpenNpyArray(std::unique_ptr<Input> input, const SourceOptions& options,
                          SourceInfo info);
OpenedReader OpenNpzReader(std::unique_ptr<Input> input, const SourceOptions& options);
OpenedReader OpenRawReader(std::unique_ptr<Input> input, const SourceOptions& options);
OpenedReader OpenSafetensorsReader(std::unique_ptr<Input> input, const SourceOptions& options);
OpenedReader OpenArchiveReader(std::unique_ptr<Input> input, const SourceOptions& options);

// The choice among them, for an input that is open already (fuzzers: over memory).
OpenedReader OpenRowReaderOn(std::unique_ptr<Input> input, const SourceOptions& options);

}  // namespace edo::storage
