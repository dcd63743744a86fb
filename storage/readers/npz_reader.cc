// Reader of .npz: one 2-D array of a zip archive of .npy entries, under row numbers or the keys
// that another of its arrays holds. The rules of choice: docs/formats.md, "npz".
#include <algorithm>
#include <array>

#include "storage/readers/keyed_reader.h"
#include "storage/readers/messages.h"
#include "storage/readers/npy_header.h"
#include "storage/readers/readers.h"
#include "storage/readers/zip_archive.h"

namespace edo::storage {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kNpyEnd = ".npy";
constexpr std::string_view kKeysPrefix = "npz:";
constexpr std::array kNamesOfIds{"ids"sv, "keys"sv, "indices"sv};
constexpr std::array kNamesOfWords{"words"sv, "vocab"sv, "tokens"sv};
constexpr uint64_t kMaxBlamedBytes = uint64_t{64} << 20;

struct Array {
  std::string name;  // without .npy, as NumPy has it
  ZipEntry entry;
  NpyHeader header;

  bool IsKind(std::string_view letters) const {
    const std::string kind = header.kind();
    return !header.structured && !kind.empty() && letters.find(kind[0]) != letters.npos;
  }
  bool IsMatrix() const { return header.shape.size() == 2; }
  bool IsList() const { return header.shape.size() == 1 || (IsMatrix() && header.shape[1] == 1); }
};

struct Archive {
  std::shared_ptr<const Input> file;
  std::vector<Array> arrays;

  const std::string& name() const { return file->name(); }
  const Array* Find(std::string_view wanted) const {
    const auto found = std::find_if(arrays.begin(), arrays.end(),
                                    [&](const Array& array) { return array.name == wanted; });
    return found == arrays.end() ? nullptr : &*found;
  }
  std::string List() const {
    std::string list;
    for (const Array& array : arrays) {
      list += (list.empty() ? "" : ", ") + Quote(array.name) + " " + array.header.descr + " " +
              array.header.ShapeText();
      if (list.size() > 2000) return list + " ...";
    }
    return list;
  }
};

bool IsTorch(const std::vector<ZipEntry>& entries) {
  return std::any_of(entries.begin(), entries.end(), [](const ZipEntry& entry) {
    const std::string_view name(entry.name);
    return name == "data.pkl" || name.ends_with("/data.pkl") || name.ends_with("/constants.pkl");
  });
}

Status NoArrays(const std::string& name, const std::vector<ZipEntry>& entries) {
  std::string list;
  for (size_t i = 0; i < std::min<size_t>(entries.size(), 5); ++i) {
    list += (i == 0 ? "" : ", ") + Quote(entries[i].name);
  }
  if (entries.size() > 5) list += " ...";
  return Status::Unsupported(name + " byte 0: this is a zip archive without .npy arrays" +
                             (list.empty() ? "" : "; it holds " + list));
}

// The header of an entry, from its first bytes. A header that makes no sense may be damage: the
// entry's checksum tells.
Result<NpyHeader> GlanceAtHeader(const std::shared_ptr<const Input>& file, const ZipEntry& entry) {
  EDO_ASSIGN_OR_RETURN(const auto input, OpenZipEntry(file, entry, ZipRead::kGlance));
  auto header = ReadNpyHeader(input.get());
  if (!header.ok() && entry.bytes <= kMaxBlamedBytes) {
    EDO_RETURN_IF_ERROR(CheckZipEntry(file, entry));
  }
  return header;
}

Result<Archive> OpenArchive(std::shared_ptr<const Input> file) {
  EDO_ASSIGN_OR_RETURN(const auto entries, ReadZipDirectory(*file));
  if (IsTorch(entries)) {
    return Status::Unsupported(
        file->name() +
        " byte 0: this is a PyTorch file (a zip archive with a pickle, data.pkl); a pickle can run "
        "programs when it is read, so it is refused: save the tensor as .npy or safetensors");
  }
  Archive archive;
  archive.file = std::move(file);
  for (const ZipEntry& entry : entries) {
    if (!entry.name.ends_with(kNpyEnd)) continue;
    Array array;
    array.name = entry.name.substr(0, entry.name.size() - kNpyEnd.size());
    array.entry = entry;
    EDO_ASSIGN_OR_RETURN(array.header, GlanceAtHeader(archive.file, entry));
    archive.arrays.push_back(std::move(array));
  }
  if (archive.arrays.empty()) return NoArrays(archive.name(), entries);
  return archive;
}

Result<const Array*> FindNamed(const Archive& archive, std::string_view wanted) {
  const Array* array = archive.Find(wanted);
  if (array == nullptr && wanted.ends_with(kNpyEnd)) {
    array = archive.Find(wanted.substr(0, wanted.size() - kNpyEnd.size()));
  }
  if (array != nullptr) return array;
  return Status::NotFound(archive.name() + ": no array " + Quote(wanted) + "; it holds " +
                          archive.List());
}

// The array named, else the only 2-D one of floats, else the only 2-D one of small integers.
Result<const Array*> ChooseRows(const Archive& archive, const SourceOptions& options) {
  if (!options.tensor.empty()) return FindNamed(archive, options.tensor);
  if (archive.arrays.size() == 1) return &archive.arrays[0];
  std::vector<const Array*> floats, integers;
  for (const Array& array : archive.arrays) {
    const std::string kind = array.header.kind();
    if (!array.IsMatrix() || array.header.structured) continue;
    const bool bf16 = kind == "V2" && options.dtype == "bf16";
    if (kind == "f2" || kind == "f4" || kind == "f8" || bf16) floats.push_back(&array);
    if (kind == "i1" || kind == "u1") integers.push_back(&array);
  }
  const auto& candidates = floats.empty() ? integers : floats;
  if (candidates.size() == 1) return candidates[0];
  return Status::BadInput(archive.name() + ": " +
                          (candidates.empty() ? "no 2-D array of floats"
                                              : "several arrays could be the table; name one (--tensor)") +
                          ". It holds " + archive.List());
}

// Without options: the one array, beside the rows, that is named as keys are and could be keys.
// nullptr: none.
Result<const Array*> ChooseKeys(const Archive& archive, const Array& rows) {
  const Array* keys = nullptr;
  for (const Array& array : archive.arrays) {
    if (&array == &rows || !array.IsList()) continue;
    const auto named = [&](const auto& names) {
      return std::find(names.begin(), names.end(), array.name) != names.end();
    };
    // Objects are refused when they are opened: leaving keys out in silence would be worse.
    const bool could_be = (named(kNamesOfIds) && array.IsKind("iuUSO")) ||
                          (named(kNamesOfWords) && array.IsKind("USO"));
    if (!could_be) continue;
    if (keys != nullptr) {
      return Status::BadInput(archive.name() + ": the keys could be " + Quote(keys->name) + " or " +
                              Quote(array.name) +
                              "; say which (keys npz:NAME), or dense for row numbers");
    }
    keys = &array;
  }
  return keys;
}

Result<std::unique_ptr<KeySource>> OpenKeys(const Archive& archive, const Array& keys) {
  EDO_ASSIGN_OR_RETURN(auto input, OpenZipEntry(archive.file, keys.entry, ZipRead::kChecked));
  return OpenNpyKeys(std::move(input));
}

}  // namespace

OpenedReader OpenNpzReader(std::unique_ptr<Input> input, const SourceOptions& options) {
  if (!input->seekable()) {
    return Status::Unsupported(input->name() +
                               ": .npz needs a seekable file, not a pipe or compressed data");
  }
  const bool keys_within = options.keys.starts_with(kKeysPrefix);
  if (!options.keys_dtype.empty() && (keys_within || options.keys.empty())) {
    return Status::InvalidArgument("keys dtype has no meaning for an array of a .npz");
  }
  EDO_ASSIGN_OR_RETURN(const Archive archive, OpenArchive(std::move(input)));
  EDO_ASSIGN_OR_RETURN(const Array* rows, ChooseRows(archive, options));
  const Array* keys = nullptr;
  if (keys_within) {
    EDO_ASSIGN_OR_RETURN(keys, FindNamed(archive, options.keys.substr(kKeysPrefix.size())));
  } else if (options.keys.empty()) {
    EDO_ASSIGN_OR_RETURN(keys, ChooseKeys(archive, *rows));
  }
  // Columns are picked from all over the entry, so its checksum comes first.
  if (rows->header.fortran_order) {
    EDO_RETURN_IF_ERROR(CheckZipEntry(archive.file, rows->entry));
  }
  SourceInfo info;
  info.format = "npz";
  for (const Array& array : archive.arrays) {
    info.tensors.push_back({array.name, array.header.descr, array.header.shape});
  }
  EDO_ASSIGN_OR_RETURN(auto entry, OpenZipEntry(archive.file, rows->entry, ZipRead::kChecked));
  EDO_ASSIGN_OR_RETURN(auto reader, OpenNpyArray(std::move(entry), options, std::move(info)));
  if (keys == nullptr) return reader;
  EDO_ASSIGN_OR_RETURN(auto source, OpenKeys(archive, *keys));
  return MakeKeyedReader(std::move(reader), std::move(source), options);
}

}  // namespace edo::storage
