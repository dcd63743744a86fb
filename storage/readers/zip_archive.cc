#include "storage/readers/zip_archive.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "storage/little_endian.h"
#include "storage/readers/messages.h"

namespace edo::storage {
namespace {

using namespace std::string_view_literals;

constexpr size_t kEndBytes = 22;  // end of central directory, without its comment
constexpr size_t kMaxCommentBytes = 65535;
constexpr size_t kLocatorBytes = 20, kEnd64Bytes = 56;  // of zip64
constexpr size_t kDirectoryEntryBytes = 46, kLocalHeaderBytes = 30;
constexpr uint64_t kMaxDirectoryBytes = uint64_t{16} << 20;
constexpr uint64_t kMaxEntries = 65536;
constexpr size_t kBlockBytes = size_t{256} << 10;
constexpr size_t kGlanceBytes = 4096;
constexpr uint16_t kEncrypted = 1;

// Exactly `bytes` bytes at `offset`.
Result<std::string> ReadPiece(const Input& archive, uint64_t offset, uint64_t bytes,
                              std::string_view what) {
  std::string piece(bytes, '\0');
  EDO_ASSIGN_OR_RETURN(const size_t got, archive.ReadAt(offset, piece.data(), piece.size()));
  if (got < bytes) {
    return BadByte(archive.name(), offset + got,
                   "the zip archive ends inside its " + std::string(what));
  }
  return piece;
}

struct DirectoryPlace {
  uint64_t offset = 0, bytes = 0, entries = 0;
  uint64_t end = 0;  // where what closes the archive begins
};

Result<DirectoryPlace> ReadEnd64(const Input& archive, const std::string& locator,
                                 uint64_t locator_at) {
  const auto at = LoadLE<uint64_t>(locator.data() + 8);
  if (LoadLE<uint32_t>(locator.data() + 4) != 0 || LoadLE<uint32_t>(locator.data() + 16) > 1) {
    return Status::Unsupported(archive.name() + ": a zip archive of several files");
  }
  if (at > locator_at || locator_at - at < kEnd64Bytes) {
    return BadByte(
        archive.name(), locator_at,
        "the zip64 end of the central directory is said to be at byte " + std::to_string(at));
  }
  EDO_ASSIGN_OR_RETURN(const std::string end,
                       ReadPiece(archive, at, kEnd64Bytes, "zip64 end of central directory"));
  if (!end.starts_with("PK\x06\x06")) {
    return BadByte(archive.name(), at, "no zip64 end of the central directory is here");
  }
  DirectoryPlace place;
  place.entries = LoadLE<uint64_t>(end.data() + 32);
  place.bytes = LoadLE<uint64_t>(end.data() + 40);
  place.offset = LoadLE<uint64_t>(end.data() + 48);
  place.end = at;
  return place;
}

Result<DirectoryPlace> FindDirectory(const Input& archive) {
  const uint64_t size = archive.size().value_or(0);
  const uint64_t tail_bytes = std::min<uint64_t>(size, kEndBytes + kMaxCommentBytes);
  EDO_ASSIGN_OR_RETURN(const std::string tail,
                       ReadPiece(archive, size - tail_bytes, tail_bytes, "end"));
  size_t at = tail.size() < kEndBytes ? tail.npos : tail.size() - kEndBytes;
  while (at != tail.npos) {
    at = tail.rfind("PK\x05\x06"sv, at);
    if (at == tail.npos) break;
    if (at + kEndBytes + LoadLE<uint16_t>(tail.data() + at + 20) == tail.size()) break;
    at = at == 0 ? tail.npos : at - 1;
  }
  if (at == tail.npos) {
    return BadByte(archive.name(), size,
                   "no zip central directory at the end of the file (" + std::to_string(size) +
                       " bytes): it is truncated, or no .npz");
  }
  const char* end = tail.data() + at;
  DirectoryPlace place;
  place.entries = LoadLE<uint16_t>(end + 10);
  place.bytes = LoadLE<uint32_t>(end + 12);
  place.offset = LoadLE<uint32_t>(end + 16);
  place.end = size - tail_bytes + at;
  if (place.end >= kLocatorBytes) {
    const uint64_t locator_at = place.end - kLocatorBytes;
    EDO_ASSIGN_OR_RETURN(const std::string locator,
                         ReadPiece(archive, locator_at, kLocatorBytes, "zip64 locator"));
    if (locator.starts_with("PK\x06\x07")) return ReadEnd64(archive, locator, locator_at);
  }
  if (LoadLE<uint16_t>(end + 4) != 0 || LoadLE<uint16_t>(end + 6) != 0) {
    return Status::Unsupported(archive.name() + ": a zip archive of several files");
  }
  return place;
}

// The zip64 extra field holds, in this order, the numbers whose places in the entry are all ones.
bool ReadExtra64(std::string_view extra, ZipEntry* entry) {
  const bool bytes = entry->bytes == UINT32_MAX, packed = entry->packed_bytes == UINT32_MAX,
             offset = entry->header_offset == UINT32_MAX;
  if (!bytes && !packed && !offset) return true;
  while (extra.size() >= 4) {
    const auto id = LoadLE<uint16_t>(extra.data());
    const auto length = LoadLE<uint16_t>(extra.data() + 2);
    extra.remove_prefix(4);
    if (length > extra.size()) return false;
    std::string_view field = extra.substr(0, length);
    extra.remove_prefix(length);
    if (id != 1) continue;
    const auto take = [&field](bool wanted, uint64_t* to) {
      if (!wanted) return true;
      if (field.size() < 8) return false;
      *to = LoadLE<uint64_t>(field.data());
      field.remove_prefix(8);
      return true;
    };
    return take(bytes, &entry->bytes) && take(packed, &entry->packed_bytes) &&
           take(offset, &entry->header_offset);
  }
  return false;
}

// Takes one entry off the front of `directory`.
std::optional<ZipEntry> TakeEntry(std::string_view* directory) {
  if (directory->size() < kDirectoryEntryBytes || !directory->starts_with("PK\x01\x02")) {
    return std::nullopt;
  }
  const char* at = directory->data();
  const size_t name_bytes = LoadLE<uint16_t>(at + 28), extra_bytes = LoadLE<uint16_t>(at + 30),
               comment_bytes = LoadLE<uint16_t>(at + 32);
  const size_t whole = kDirectoryEntryBytes + name_bytes + extra_bytes + comment_bytes;
  if (whole > directory->size()) return std::nullopt;
  ZipEntry entry;
  entry.flags = LoadLE<uint16_t>(at + 8);
  entry.method = LoadLE<uint16_t>(at + 10);
  entry.crc = LoadLE<uint32_t>(at + 16);
  entry.packed_bytes = LoadLE<uint32_t>(at + 20);
  entry.bytes = LoadLE<uint32_t>(at + 24);
  entry.header_offset = LoadLE<uint32_t>(at + 42);
  entry.name = directory->substr(kDirectoryEntryBytes, name_bytes);
  if (!ReadExtra64(directory->substr(kDirectoryEntryBytes + name_bytes, extra_bytes), &entry)) {
    return std::nullopt;
  }
  directory->remove_prefix(whole);
  return entry;
}

// The name as it stands in messages: bare, unless it holds bytes that should not be printed.
std::string EntryName(const Input& archive, const ZipEntry& entry) {
  const std::string quoted = Quote(entry.name);
  const bool plain = quoted == "'" + entry.name + "'";
  return archive.name() + " entry " + (plain ? entry.name : quoted);
}

std::string Hex(uint32_t value) {
  char digits[8];
  const auto end = std::to_chars(digits, digits + 8, value, 16).ptr;
  return std::string(8 - static_cast<size_t>(end - digits), '0').append(digits, end);
}

class ZipEntrySource final : public ByteSource {
 public:
  ZipEntrySource(std::shared_ptr<const Input> archive, const ZipEntry& entry, uint64_t data_offset,
                 ZipRead how)
      : archive_(std::move(archive)),
        entry_(entry),
        name_(EntryName(*archive_, entry)),
        data_offset_(data_offset),
        checked_(how == ZipRead::kChecked) {}
  ~ZipEntrySource() override {
    if (inflating_) inflateEnd(&stream_);
  }
  bool Start() {
    if (entry_.method == 0) return true;
    inflating_ = inflateInit2(&stream_, -15) == Z_OK;  // negative: no zlib header
    block_.resize(checked_ ? kBlockBytes : kGlanceBytes);
    return inflating_;
  }

  Result<size_t> Read(char* to, size_t bytes) override {
    if (done_ == entry_.bytes) {
      if (entry_.bytes == 0) EDO_RETURN_IF_ERROR(CheckWhole());
      return size_t{0};
    }
    size_t wanted = std::min<uint64_t>(bytes, entry_.bytes - done_);
    wanted = std::min(wanted, checked_ ? size_t{1} << 30 : kGlanceBytes);
    EDO_ASSIGN_OR_RETURN(const size_t got, inflating_ ? Inflate(to, wanted) : Copy(to, wanted));
    done_ += got;
    if (checked_) {
      crc_ = static_cast<uint32_t>(crc32_z(crc_, reinterpret_cast<const Bytef*>(to), got));
      if (done_ == entry_.bytes) EDO_RETURN_IF_ERROR(CheckWhole());
    }
    return got;
  }
  uint64_t raw_bytes() const override { return inflating_ ? packed_done_ : done_; }

 private:
  Result<size_t> Copy(char* to, size_t wanted) {
    EDO_ASSIGN_OR_RETURN(const size_t got, archive_->ReadAt(data_offset_ + done_, to, wanted));
    if (got == 0) return Truncated();
    return got;
  }

  // At least one byte, unless the entry is at fault.
  Result<size_t> Inflate(char* to, size_t wanted) {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(wanted);
    while (stream_.avail_out == wanted) {
      if (ended_) {
        return Status::BadInput(name_ + ": its deflated data end after " + Count(done_, "byte") +
                                ", the zip directory says " + std::to_string(entry_.bytes));
      }
      EDO_RETURN_IF_ERROR(InflateSome());
    }
    return wanted - stream_.avail_out;
  }

  Status InflateSome() {
    if (stream_.avail_in == 0 && packed_done_ < entry_.packed_bytes) {
      const size_t step = std::min<uint64_t>(block_.size(), entry_.packed_bytes - packed_done_);
      EDO_ASSIGN_OR_RETURN(const size_t got,
                           archive_->ReadAt(data_offset_ + packed_done_, block_.data(), step));
      if (got == 0) return Truncated();
      packed_done_ += got;
      stream_.next_in = reinterpret_cast<Bytef*>(block_.data());
      stream_.avail_in = static_cast<uInt>(got);
    }
    const bool starved = stream_.avail_in == 0;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    ended_ = code == Z_STREAM_END;
    if (code == Z_OK || ended_) return Status::Ok();
    if (code == Z_BUF_ERROR && !starved) return Status::Ok();
    const char* why = stream_.msg ? stream_.msg : "it ends too early";
    return Status::BadInput(name_ + " byte " + std::to_string(done_) +
                            ": its deflated data are damaged: " + why);
  }

  // All bytes that the directory promises are there: nothing may follow, and the sum must agree.
  Status CheckWhole() {
    while (inflating_ && !ended_) {
      char more;
      stream_.next_out = reinterpret_cast<Bytef*>(&more);
      stream_.avail_out = 1;
      EDO_RETURN_IF_ERROR(InflateSome());
      if (stream_.avail_out == 0) {
        return Status::BadInput(name_ + ": it unpacks to more than the " +
                                Count(entry_.bytes, "byte") + " that the zip directory says");
      }
    }
    if (crc_ == entry_.crc) return Status::Ok();
    return Status::BadInput(name_ + ": its bytes have CRC-32 " + Hex(crc_) +
                            ", the zip directory says " + Hex(entry_.crc) + ": they are damaged");
  }

  Status Truncated() const {
    return Status::BadInput(name_ + ": the zip archive is truncated inside it");
  }

  const std::shared_ptr<const Input> archive_;
  const ZipEntry entry_;
  const std::string name_;
  const uint64_t data_offset_;
  const bool checked_;
  bool inflating_ = false, ended_ = false;
  z_stream stream_{};
  std::vector<char> block_;
  uint64_t done_ = 0;         // bytes delivered
  uint64_t packed_done_ = 0;  // bytes given to inflate
  uint32_t crc_ = 0;
};

Status CheckReadable(const std::string& name, const ZipEntry& entry) {
  if ((entry.flags & kEncrypted) != 0) return Status::Unsupported(name + ": it is encrypted");
  if (entry.method != 0 && entry.method != 8) {
    return Status::Unsupported(name + ": compression method " + std::to_string(entry.method) +
                               " cannot be read (stored and deflated can)");
  }
  if (entry.method == 0 && entry.packed_bytes != entry.bytes) {
    return Status::BadInput(name + ": a stored entry of " + Count(entry.bytes, "byte") +
                            " that takes " + std::to_string(entry.packed_bytes) +
                            " in the archive");
  }
  return Status::Ok();
}

// Where the entry's bytes begin. Of the local header only the lengths of its two texts count.
Result<uint64_t> DataOffset(const Input& archive, const std::string& name, const ZipEntry& entry) {
  const uint64_t size = *archive.size();
  if (entry.header_offset > size || size - entry.header_offset < kLocalHeaderBytes) {
    return BadByte(
        name, entry.header_offset,
        "its header would lie past the end of the archive (" + std::to_string(size) + " bytes)");
  }
  EDO_ASSIGN_OR_RETURN(
      const std::string header,
      ReadPiece(archive, entry.header_offset, kLocalHeaderBytes, "local header of " + name));
  if (!header.starts_with("PK\x03\x04")) {
    return BadByte(archive.name(), entry.header_offset,
                   "the zip directory is damaged: no entry begins here (" + name + ")");
  }
  const uint64_t offset = entry.header_offset + kLocalHeaderBytes +
                          LoadLE<uint16_t>(header.data() + 26) +
                          LoadLE<uint16_t>(header.data() + 28);
  if (offset > size || size - offset < entry.packed_bytes) {
    return BadByte(archive.name(), size,
                   "the zip archive is truncated: " + name + " needs " +
                       Count(entry.packed_bytes, "byte") + " from byte " + std::to_string(offset));
  }
  return offset;
}

}  // namespace

bool IsZip(std::string_view start) { return start.starts_with("PK\x03\x04"); }

Result<std::vector<ZipEntry>> ReadZipDirectory(const Input& archive) {
  EDO_ASSIGN_OR_RETURN(const DirectoryPlace place, FindDirectory(archive));
  if (place.offset > place.end || place.end - place.offset < place.bytes) {
    return BadByte(archive.name(), place.end,
                   "the zip central directory, " + Count(place.bytes, "byte") + " from byte " +
                       std::to_string(place.offset) + ", does not fit the file");
  }
  if (place.bytes > kMaxDirectoryBytes || place.entries > kMaxEntries) {
    return Status::Unsupported(archive.name() + ": a zip archive of " +
                               std::to_string(place.entries) + " entries; the most is " +
                               std::to_string(kMaxEntries));
  }
  EDO_ASSIGN_OR_RETURN(const std::string bytes,
                       ReadPiece(archive, place.offset, place.bytes, "central directory"));
  std::string_view left = bytes;
  std::vector<ZipEntry> entries;
  std::set<std::string> names;
  for (uint64_t i = 0; i < place.entries; ++i) {
    const uint64_t at = place.offset + (bytes.size() - left.size());
    auto entry = TakeEntry(&left);
    if (!entry) {
      return BadByte(archive.name(), at,
                     "the zip central directory is damaged at its entry " + std::to_string(i + 1) +
                         " of " + std::to_string(place.entries));
    }
    if (!names.insert(entry->name).second) {
      return BadByte(archive.name(), at,
                     "two entries of the zip archive are named " + Quote(entry->name));
    }
    entries.push_back(*std::move(entry));
  }
  return entries;
}

Result<std::unique_ptr<Input>> OpenZipEntry(std::shared_ptr<const Input> archive,
                                            const ZipEntry& entry, ZipRead how) {
  const std::string name = EntryName(*archive, entry);
  EDO_RETURN_IF_ERROR(CheckReadable(name, entry));
  EDO_ASSIGN_OR_RETURN(const uint64_t offset, DataOffset(*archive, name, entry));
  auto source = std::make_unique<ZipEntrySource>(archive, entry, offset, how);
  if (!source->Start()) return Status::IoError(name + ": no memory to decompress");
  Input::Part part;
  part.name = name;
  part.path = archive->path();
  part.source = std::move(source);
  part.bytes = entry.bytes;
  part.raw_bytes = entry.packed_bytes;
  if (entry.method == 0) {
    part.within = std::move(archive);
    part.within_offset = offset;
  } else {
    part.compression = "deflate";
  }
  return Input::FromPart(std::move(part));
}

Status CheckZipEntry(std::shared_ptr<const Input> archive, const ZipEntry& entry) {
  EDO_ASSIGN_OR_RETURN(auto input, OpenZipEntry(std::move(archive), entry, ZipRead::kChecked));
  EDO_ASSIGN_OR_RETURN(const uint64_t skipped, input->Skip(UINT64_MAX));
  (void)skipped;
  return Status::Ok();
}

}  // namespace edo::storage
