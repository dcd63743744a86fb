// Bodies of source_options.h.
#include "tools/source_options.h"

#include "tools/text.h"

namespace edo::tools {
namespace {

std::string FormatNames() {
  std::vector<std::string> names;
  for (const FormatInfo& format : ImportFormats()) names.emplace_back(format.name);
  return JoinWords(names, "|");
}

}  // namespace

void AddSourceOptions(CLI::App* app, SourceArgs* args, const char* file, bool file_required) {
  SourceOptions& source = args->source;
  const bool plain = std::string_view(file) == "FILE";
  app->add_option(file, source.path,
                  plain ? "File to read, or - for standard input; gzip and zstd too"
                        : "The file that the table was made of, or - for standard input")
      ->type_name(kFileType)
      ->required(file_required);
  app->add_option("--from", source.format, "Format of the file; default: recognised by its content")
      ->type_name(FormatNames());
  app->add_option("--keys", source.keys,
                  "File of keys, one a line, in the order of the rows; `dense`: row numbers; "
                  "`npz:NAME`: another array of the .npz")
      ->type_name(kFileType);
  app->add_option("--keys-dtype", source.keys_dtype, "The keys file is raw integers of this type")
      ->type_name("i32|i64|u32|u64");
  app->add_option("--key-type", args->key_kind, "What the keys are, where the file leaves it open")
      ->type_name("auto|int64|text|dense")
      ->default_str("auto");
  app->add_option("--tensor", source.tensor, "Which tensor or array of a file that has several")
      ->type_name("NAME");
  app->add_option("--dim", args->dim, "Values a row (needed for raw files)")->type_name("D");
  app->add_option("--dtype", source.dtype,
                  "Type of a raw file's values: f32 f16 bf16 f64 i8 u8; be-f32 is big-endian")
      ->type_name("T");
  app->add_option("--delimiter", args->delimiter, "Between the fields of csv or tsv; \\t is TAB")
      ->type_name("CHAR");
}

Result<SourceOptions> SourceArgs::Resolve() const {
  SourceOptions out = source;
  if (!dim.empty()) {
    const auto number = ParseInt64(dim);
    if (!number || *number < 1 || *number > kMaxDim) {
      return Status::InvalidArgument("--dim: '" + dim + "' is not a whole number within 1.." +
                                     std::to_string(kMaxDim));
    }
    out.dim = static_cast<uint32_t>(*number);
  }
  if (key_kind == "int64") {
    out.key_kind = KeyKind::kInt64;
  } else if (key_kind == "text") {
    out.key_kind = KeyKind::kText;
  } else if (key_kind == "dense") {
    if (!out.keys.empty() && out.keys != "dense") {
      return Status::InvalidArgument("--key-type dense and --keys " + out.keys +
                                     " contradict each other");
    }
    out.keys = "dense";
  } else if (key_kind != "auto") {
    return Status::InvalidArgument("--key-type: '" + key_kind +
                                   "' is not one of auto, int64, text, dense");
  }
  if (delimiter == "\\t") {
    out.delimiter = '\t';
  } else if (delimiter.size() == 1) {
    out.delimiter = delimiter[0];
  } else if (!delimiter.empty()) {
    return Status::InvalidArgument("--delimiter: '" + delimiter + "' is not one character");
  }
  return out;
}

}  // namespace edo::tools
