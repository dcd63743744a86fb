// OpenRowWriter and the list of export formats.
#include <new>

#include "storage/readers/messages.h"
#include "storage/readers/sniff.h"
#include "storage/row_writer.h"
#include "storage/writers/writers.h"

namespace edo {

std::vector<FormatInfo> ExportFormats() {
  return {
      {"word2vec", "txt", "word2vec text: a header 'rows dim', then a key and values a line"},
      {"glove", "", "GloVe text: a key and values a line, no header"},
      {"fasttext", "vec", "fastText .vec: the same as word2vec text"},
      {"word2vec-bin", "bin", "word2vec binary: a header line, then keys and f32 rows"},
      {"npy", "npy", "NumPy array, with STEM.keys.txt or STEM.keys.npy beside it"},
      {"safetensors", "safetensors", "tensor 'embeddings', and the keys as tensors beside it"},
      {"raw", "f32,f16,bf16,raw", "rows and nothing else, with FILE.keys.txt or FILE.keys.i64"},
      {"tsv", "tsv", "key and values between TABs, no quotes"},
      {"csv", "csv", "key and values between commas, RFC 4180 quotes"},
      {"jsonl", "jsonl,ndjson", "a JSON object a line: {\"id\": ..., \"vector\": [...]}"},
      {"edo", "edo", "EDO archive: the table's codes and keys bit for bit"},
  };
}

namespace storage {
namespace {

// Is `word` one of a list like "jsonl,ndjson"?
bool Lists(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
  return false;
}

Result<std::string> FormatOf(const TargetInfo& target) {
  std::string names;
  const std::string extension = ExtensionOf(target.path);
  for (const FormatInfo& format : ExportFormats()) {
    if (!target.format.empty() && format.name == target.format) return target.format;
    if (target.format.empty() && !extension.empty() && Lists(format.extensions, extension)) {
      return std::string(format.name);
    }
    names.append(names.empty() ? "" : ", ").append(format.name);
  }
  if (!target.format.empty()) {
    return Status::InvalidArgument("format " + Quote(target.format) +
                                   " is not one that can be exported; known: " + names);
  }
  return Status::InvalidArgument(target.path + ": its name does not tell the format; name one of " +
                                 names);
}

}  // namespace

Result<std::unique_ptr<RowWriter>> OpenRowWriter(const TargetInfo& given) try {
  TargetInfo target = given;
  EDO_ASSIGN_OR_RETURN(target.format, FormatOf(given));
  const std::string& format = target.format;
  if (target.dtype != FloatType::kF32 && format != "npy" && format != "raw" &&
      format != "safetensors") {
    return Status::InvalidArgument("format " + format + " holds no " +
                                   std::string(FloatTypeName(target.dtype)) +
                                   " values (npy, safetensors and raw do)");
  }
  if (format == "word2vec-bin") return MakeWord2vecBinaryWriter(target);
  if (format == "csv" || format == "tsv") return MakeDelimitedWriter(target);
  if (format == "jsonl") return MakeJsonlWriter(target);
  if (format == "npy") return MakeNpyWriter(target);
  if (format == "raw") return MakeRawWriter(target);
  if (format == "safetensors") return MakeSafetensorsWriter(target);
  if (format == "edo") return MakeArchiveWriter(target);
  return MakeTextWriter(target);
} catch (const std::exception& error) {
  return Status::IoError(given.path + ": " + error.what());
}

}  // namespace storage
}  // namespace edo
