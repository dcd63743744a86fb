// OpenRowReader, DescribeSource and the list of import formats.
#include <algorithm>
#include <new>

#include "storage/readers/keyed_reader.h"
#include "storage/readers/messages.h"
#include "storage/readers/readers.h"
#include "storage/readers/sniff.h"
#include "storage/readers/zip_archive.h"

namespace edo {

std::vector<FormatInfo> ImportFormats() {
  return {
      {"word2vec", "vec,txt", "word2vec text: a header 'rows dim', then a key and values a line"},
      {"glove", "txt", "GloVe text: a key and values a line, no header"},
      {"fasttext", "vec", "fastText .vec: the same as word2vec text"},
      {"word2vec-bin", "bin", "word2vec binary: a header line, then keys and f32 rows"},
      {"npy", "npy", "NumPy array, 2-D: f2 f4 f8 i1 u1, C or Fortran order, either byte order"},
      {"npz", "npz", "one 2-D array of a NumPy archive, and keys from another of its arrays"},
      {"safetensors", "safetensors", "one 2-D tensor: F32 F16 BF16 F64 F8_E4M3 F8_E5M2 I8 U8"},
      {"raw", "f32,f16,bf16", "rows of dim elements and nothing else; needs dim and dtype"},
      {"tsv", "tsv", "key and values between TABs, no quotes"},
      {"csv", "csv", "key and values between commas, RFC 4180 quotes"},
      {"jsonl", "jsonl,ndjson", "a JSON object a line: {\"id\": ..., \"vector\": [...]}"},
      {"edo", "edo", "EDO archive: a table's codes and keys bit for bit"},
  };
}

namespace storage {
namespace {

Result<std::string> FormatOf(Input* input, const SourceOptions& options) {
  if (!options.format.empty()) {
    std::string names;
    for (const FormatInfo& format : ImportFormats()) {
      if (format.name == options.format) return options.format;
      names.append(names.empty() ? "" : ", ").append(format.name);
    }
    return Status::InvalidArgument("format " + Quote(options.format) +
                                   " is not one that can be imported; known: " + names);
  }
  if (!options.dtype.empty() && options.dim != 0 && options.dtype != "bf16") {
    EDO_ASSIGN_OR_RETURN(const std::string_view start, input->Peek(8));
    if (!start.starts_with("\x93NUMPY") && !IsZip(start)) return std::string("raw");
  }
  return SniffFormat(input);
}

OpenedReader OpenFormat(std::unique_ptr<Input> input, const SourceOptions& options,
                        const std::string& format) {
  if (format == "word2vec-bin") return OpenWord2vecBinaryReader(std::move(input), options);
  if (format == "npy") return OpenNpyReader(std::move(input), options);
  if (format == "npz") return OpenNpzReader(std::move(input), options);
  if (format == "safetensors") return OpenSafetensorsReader(std::move(input), options);
  if (format == "raw") return OpenRawReader(std::move(input), options);
  if (format == "jsonl") return OpenJsonlReader(std::move(input), options);
  if (format == "edo") return OpenArchiveReader(std::move(input), options);
  if (format == "csv" || format == "tsv") {
    return OpenDelimitedReader(std::move(input), options, format);
  }
  return OpenTextReader(std::move(input), options, format);
}

// Keys that are another array of the same .npz.
bool KeysWithin(const SourceOptions& options) { return options.keys.starts_with("npz:"); }

// An option that the format has no use for is a mistake of the caller, not to be passed over.
Status CheckOptions(const SourceOptions& options, const std::string& format) {
  const auto refuse = [&](std::string_view option) {
    return Status::InvalidArgument("option " + std::string(option) + " has no meaning for format " +
                                   format);
  };
  if (options.dim > kMaxDim) {
    return Status::InvalidArgument("dim " + std::to_string(options.dim) + " is more than " +
                                   std::to_string(kMaxDim));
  }
  if (!options.tensor.empty() && format != "safetensors" && format != "npz") {
    return refuse("tensor");
  }
  if (!options.dtype.empty() && format != "raw" && format != "npy" && format != "npz") {
    return refuse("dtype");
  }
  if (options.codes) {
    if (format != "npy" && format != "npz") return refuse("codes");
    if (options.codes->kind != CodecKind::kPQ) {
      return Status::InvalidArgument("codes of " + options.codes->ToString() +
                                     " are not taken; those of PQ{m}x{b} and OPQ{m},PQ{m}x{b} are");
    }
    EDO_RETURN_IF_ERROR(options.codes->Check(options.dim));
  }
  if (KeysWithin(options) && format != "npz") {
    return Status::InvalidArgument("keys " + Quote(options.keys) +
                                   " names an array of a .npz file, the rows are " + format);
  }
  if (!options.keys_dtype.empty() && options.keys.empty() && format != "npz") {
    return Status::InvalidArgument("option keys_dtype needs a keys file");
  }
  if (options.delimiter != 0 && format != "csv" && format != "tsv") return refuse("delimiter");
  if (!options.keys.empty() && format == "edo") return refuse("keys");
  const bool text = format == "word2vec" || format == "glove" || format == "fasttext" ||
                    format == "csv" || format == "tsv";
  if (options.header != HeaderLine::kAuto && !text) return refuse("header");
  if (options.key_kind == KeyKind::kDense) {
    return Status::InvalidArgument("key kind dense is asked for by keys = \"dense\"");
  }
  return Status::Ok();
}

}  // namespace

OpenedReader OpenRowReaderOn(std::unique_ptr<Input> input, const SourceOptions& options) try {
  EDO_ASSIGN_OR_RETURN(const std::string_view start, input->Peek(512));
  if (options.format != "raw") {
    if (const std::string foreign = NameForeignBytes(start); !foreign.empty()) {
      return Status::Unsupported(input->name() + " byte 0 (line 1): " + foreign);
    }
    if (IsZip(start) && !options.format.empty() && options.format != "npz") {
      return Status::Unsupported(input->name() + " byte 0 (line 1): this is a zip archive (a " +
                                 ".npz?), not " + options.format);
    }
  }
  EDO_ASSIGN_OR_RETURN(const std::string format, FormatOf(input.get(), options));
  EDO_RETURN_IF_ERROR(CheckOptions(options, format));
  if (input->window().empty() && format != "raw" && options.dim == 0) {
    return BadByte(input->name(), 0, "the file is empty (a file of 0 bytes)");
  }
  EDO_ASSIGN_OR_RETURN(auto reader, OpenFormat(std::move(input), options, format));
  if (options.keys.empty() || KeysWithin(options)) return reader;
  EDO_ASSIGN_OR_RETURN(auto keys, OpenKeySource(options));
  return MakeKeyedReader(std::move(reader), std::move(keys), options);
} catch (const std::bad_alloc&) {
  return Status::IoError(options.path + ": not enough memory to open it");
} catch (const std::exception& error) {
  return Status::BadInput(options.path + ": " + error.what());
}

Result<std::unique_ptr<RowReader>> OpenRowReader(const SourceOptions& options) {
  EDO_ASSIGN_OR_RETURN(auto input, Input::Open(options.path, options.cancelled));
  return OpenRowReaderOn(std::move(input), options);
}

}  // namespace storage

Result<SourceDescription> DescribeSource(const SourceOptions& options) {
  EDO_ASSIGN_OR_RETURN(auto reader, storage::OpenRowReader(options));
  const storage::SourceInfo& info = reader->info();
  SourceDescription description;
  description.format = info.format;
  description.compression = info.compression;
  description.source_dtype = info.dtype;
  description.key_kind = info.key_kind;
  description.dim = info.dim;
  description.rows = info.rows;
  description.tensors = info.tensors;
  description.metadata = info.metadata;
  return description;
}

}  // namespace edo
