#include "storage/readers/sniff.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "storage/readers/archive_format.h"
#include "storage/readers/line_reader.h"
#include "storage/readers/messages.h"
#include "storage/readers/number.h"
#include "storage/readers/text_fields.h"
#include "storage/readers/zip_archive.h"

namespace edo::storage {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view bytes;
  size_t at;
  std::string_view what;
};
constexpr std::array kForeign{
    Magic{"\xba\x16\x4f\x2f"sv, 0, "this is a fastText model (.bin); import its .vec file"},
    Magic{"PK\x05\x06"sv, 0, "this is an empty zip archive"},
    Magic{"\x89HDF\r\n\x1a\n"sv, 0,
          "this is an HDF5 file; HDF5 is not supported yet: save the dataset as .npy"},
    Magic{"FiFu"sv, 0,
          "this is a finalfusion file (.fifu), which is not supported yet: convert it to word2vec"},
    Magic{"PAR1"sv, 0,
          "this is a Parquet file, which is not supported yet: convert it to .npy, CSV or JSONL"},
    Magic{"ARROW1\0\0"sv, 0,
          "this is an Arrow IPC file, which is not supported yet: convert it to .npy or JSONL"},
    Magic{"SQLite format 3\0"sv, 0, "this is an SQLite database"},
    Magic{"GGUF"sv, 0, "this is a GGUF model, which is not supported: export the tensor as .npy"},
    Magic{"\xfd"
          "7zXZ\0"sv,
          0, "this is xz data; decompress it first (gzip and zstd are read as they are)"},
    Magic{"7z\xbc\xaf\x27\x1c"sv, 0, "this is a 7-Zip archive; unpack it first"},
    Magic{"Rar!\x1a\x07"sv, 0, "this is a RAR archive; unpack it first"},
    Magic{"\x04\x22\x4d\x18"sv, 0,
          "this is LZ4 data; decompress it first (gzip and zstd are read as they are)"},
    Magic{"ustar"sv, 257, "this is a tar archive; unpack it first"},
    Magic{"%PDF-"sv, 0, "this is a PDF document"},
    Magic{"\x7f"
          "ELF"sv,
          0, "this is a program (ELF)"},
    Magic{"version https://git-lfs"sv, 0,
          "this is a git-lfs pointer, not the file itself; fetch it with 'git lfs pull'"},
    Magic{"\xff\xfe"sv, 0, "this is UTF-16 text (it begins with FF FE); convert it to UTF-8"},
    Magic{"\xfe\xff"sv, 0, "this is UTF-16 text (it begins with FE FF); convert it to UTF-8"},
};
// faiss indexes begin with one of these words and the dimension.
constexpr std::array kFaiss{"IxF2"sv, "IxFI"sv, "IxFl"sv, "IxSQ"sv, "IxPq"sv, "IxPQ"sv, "IxMp"sv,
                            "IxM2"sv, "IxPT"sv, "IwFl"sv, "IwPQ"sv, "IwSq"sv, "IwQR"sv, "IHNf"sv};

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  return lower;
}

bool IsHtml(std::string_view start) {
  const size_t first = start.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  const std::string lower = LowerCase(start.substr(first, 64));
  if (lower.starts_with("<!doctype html")) return true;
  return lower.starts_with("<html") && (lower.size() == 5 || lower[5] == '>' || lower[5] == ' ') &&
         start.find('<', first + 1) != std::string_view::npos;
}

// PyTorch files from before 1.6 and other pickles: PROTO 2..5, then an opcode that begins objects.
bool IsPickle(std::string_view start) {
  return start.size() > 2 && start[0] == '\x80' && start[1] >= 2 && start[1] <= 5 &&
         ("}](c\x8a\x95KJMX)N"sv.find(start[2]) != std::string_view::npos);
}

// UTF-16 without a byte order mark: ASCII with a NUL behind or before every byte.
bool IsUtf16(std::string_view start) {
  if (start.size() < 8) return false;
  bool little = true, big = true;
  for (size_t i = 0; i < 8; i += 2) {
    const auto printable = [](char c) { return (c >= ' ' && c < 0x7f) || c == '\n' || c == '\t'; };
    little = little && printable(start[i]) && start[i + 1] == 0;
    big = big && start[i] == 0 && printable(start[i + 1]);
  }
  return little || big;
}

bool IsBzip2(std::string_view start) {
  return start.starts_with("BZh") && start.size() >= 10 && start[3] >= '1' && start[3] <= '9' &&
         (start.substr(4, 6) == "\x31\x41\x59\x26\x53\x59"sv ||
          start.substr(4, 6) == "\x17\x72\x45\x38\x50\x90"sv);
}

bool IsSafetensors(std::string_view start) {
  if (start.size() < 9 || start[8] != '{') return false;
  uint64_t header_bytes = 0;
  memcpy(&header_bytes, start.data(), 8);
  return header_bytes >= 2 && header_bytes <= 100'000'000;
}

bool IsJson(std::string_view start) {
  const size_t open = start.find_first_not_of(" \t\r\n");
  if (open == std::string_view::npos || (start[open] != '{' && start[open] != '[')) return false;
  const size_t next = start.find_first_not_of(" \t\r\n", open + 1);
  if (next == std::string_view::npos) return false;
  if (start[next] == '"') {  // {"field": or ["key",
    const size_t quote = start.find('"', next + 1);
    const size_t after =
        quote == std::string_view::npos ? quote : start.find_first_not_of(" \t\r\n", quote + 1);
    return after != std::string_view::npos && start[after] == (start[open] == '{' ? ':' : ',');
  }
  return start[open] == '[' && ((start[next] >= '0' && start[next] <= '9') || start[next] == '-') &&
         start.find(']') != std::string_view::npos;
}

// Values in a line split at one delimiter: fields after the first, when all are numbers.
size_t DelimitedValues(std::string_view line, char delimiter) {
  size_t count = 0;
  size_t at = line.find(delimiter);
  while (at != std::string_view::npos) {
    const size_t next = line.find(delimiter, at + 1);
    std::string_view field =
        line.substr(at + 1, next == std::string_view::npos ? next : next - at - 1);
    while (field.starts_with(' ')) field.remove_prefix(1);
    while (field.ends_with(' ')) field.remove_suffix(1);
    if (field.starts_with('"') && field.ends_with('"') && field.size() > 1) {
      field = field.substr(1, field.size() - 2);
    }
    if (!IsNumber(field)) return 0;
    ++count;
    at = next;
  }
  return count;
}

std::string SniffText(const std::vector<std::string_view>& lines) {
  const std::string_view first = lines[0];
  const std::string_view second = lines.size() > 1 ? lines[1] : "";
  if (const auto header = ParseTextHeader(first)) {
    // "3 4" may also be the first row of a table of dim 1 without a header: then every row is an
    // integer and one value.
    const bool all_pairs = std::all_of(lines.begin() + 1, lines.end(), [](std::string_view line) {
      return CountValues(line) == 1 && IsCanonicalInt64(line.substr(0, line.find(' ')));
    });
    return header->dim != 1 && lines.size() > 1 && all_pairs ? "glove" : "word2vec";
  }
  if (IsFloretHeader(first)) return "word2vec";
  const std::string_view sample = second.empty() ? first : second;  // line 1 may be a header
  if (DelimitedValues(sample, '\t') > 0) return "tsv";
  if (CountValues(sample) > 0 || CountValues(first) > 0) return "glove";
  if (DelimitedValues(sample, ',') > 0) return "csv";
  return "";
}

std::string SniffContent(std::string_view start, const std::vector<std::string_view>& lines) {
  if (start.starts_with("\x93NUMPY")) return "npy";
  if (IsZip(start)) return "npz";
  if (start.starts_with(kArchiveMagic)) return "edo";
  if (IsSafetensors(start)) return "safetensors";
  const bool binary = HasBinaryBytes(start.substr(0, 4096));
  if (binary && !lines.empty() && ParseTextHeader(lines[0])) return "word2vec-bin";
  return "";
}

}  // namespace

std::string NameForeignBytes(std::string_view start) {
  for (const Magic& magic : kForeign) {
    if (start.size() > magic.at && start.substr(magic.at).starts_with(magic.bytes)) {
      return std::string(magic.what);
    }
  }
  for (const std::string_view word : kFaiss) {
    if (start.starts_with(word) && start.size() > 6 && start[6] == 0) {  // a small dimension
      return "this is a faiss index, which is not supported yet: save its rows as .npy";
    }
  }
  if (IsHtml(start)) {
    return "this is an HTML page, not a table (an error page saved in place of the file?)";
  }
  if (IsPickle(start)) {
    return "this is a Python pickle (gensim .save, old PyTorch .pt); a pickle can run programs "
           "when it is read, so it is refused: save the rows as .npy, word2vec or safetensors";
  }
  if (IsUtf16(start)) return "this is UTF-16 text without a byte order mark; convert it to UTF-8";
  if (IsBzip2(start)) {
    return "this is bzip2 data; decompress it first (gzip and zstd are read as they are)";
  }
  return "";
}

bool HasBinaryBytes(std::string_view bytes) {
  return std::any_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r';
  });
}

std::string ExtensionOf(std::string_view path) {
  std::string lower = LowerCase(path.substr(path.rfind('/') + 1));
  for (const std::string_view packed : {".gz"sv, ".zst"sv, ".zstd"sv}) {
    if (lower.ends_with(packed)) lower.resize(lower.size() - packed.size());
  }
  const size_t dot = lower.rfind('.');
  return dot == std::string::npos ? "" : lower.substr(dot + 1);
}

Result<std::string> SniffFormat(Input* input) {
  EDO_ASSIGN_OR_RETURN(std::string_view start, input->Peek(4096));
  if (start.empty()) {
    return BadByte(input->name(), 0, "the file is empty (a file of 0 bytes)");
  }
  EDO_ASSIGN_OR_RETURN(std::vector<std::string_view> lines, PeekLines(input, 3));
  start = input->window();
  if (!lines.empty() && lines[0].starts_with("\xef\xbb\xbf")) lines[0].remove_prefix(3);
  if (std::string format = SniffContent(start, lines); !format.empty()) return format;

  const std::string extension = ExtensionOf(input->path());
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kByName{
      {{"npy", "npy"},
       {"npz", "npz"},
       {"safetensors", "safetensors"},
       {"jsonl", "jsonl"},
       {"ndjson", "jsonl"},
       {"csv", "csv"},
       {"tsv", "tsv"},
       {"edo", "edo"},
       {"vec", "word2vec"},
       {"f32", "raw"}}};
  for (const auto& [end, format] : kByName) {
    const bool headless = end == "vec" && !ParseTextHeader(lines[0]) && CountValues(lines[0]) > 0 &&
                          !IsFloretHeader(lines[0]);
    if (extension == end && !headless) return std::string(format);
  }
  std::string text;
  if (start.starts_with("\xef\xbb\xbf")) start.remove_prefix(3);
  if (IsJson(start)) return std::string("jsonl");
  if (!HasBinaryBytes(start.substr(0, 4096))) text = SniffText(lines);
  if (!text.empty()) return text;
  return Status::BadInput(input->name() + " byte 0: no format is recognised; it begins with " +
                          Quote(start.substr(0, 24)) + " (name the format when you know it)");
}

}  // namespace edo::storage
