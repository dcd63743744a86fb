// What the cases of tests/data/cases do not say of .npz: damage anywhere, lying sizes, zip64
// fields, pipes. The archives are the committed ones of npz_plain (Python's zipfile wrote them,
// with zip64 extras in the local headers), changed byte by byte, and small ones put together here.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <cstring>
#include <thread>

#include "storage/little_endian.h"
#include "storage/readers/readers.h"
#include "storage/readers/zip_archive.h"
#include "tests/support/test_util.h"

namespace edo::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Read {
  Status status;
  SourceInfo info;
  std::vector<float> values;
  std::vector<std::string> keys;
};

Read ReadBytes(std::string_view bytes, SourceOptions options = {}) {
  Read read;
  options.path = "memory";
  auto input = Input::FromMemory("memory", bytes);
  EDO_EXPECT_OK(input.status());
  auto reader = OpenRowReaderOn(std::move(*input), options);
  read.status = reader.status();
  if (!reader.ok()) return read;
  RowBatch batch;
  for (;;) {
    const auto more = (*reader)->Next(&batch);
    read.status = more.status();
    if (!more.ok() || !*more) break;
    read.values.insert(read.values.end(), batch.values.begin(), batch.values.end());
    for (size_t i = 0; i < batch.key_ends.size(); ++i) read.keys.emplace_back(batch.text_key(i));
  }
  read.info = (*reader)->info();
  return read;
}

std::string Message(const Read& read) { return std::string(read.status.message()); }

std::string Npy(const std::string& descr, const std::string& shape, std::string_view data) {
  std::string dict = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  dict.resize(117, ' ');
  return std::string("\x93NUMPY\1\0\x76\0", 10) + dict + "\n" + std::string(data);
}

std::string Deflated(std::string_view bytes) {
  std::string out(bytes.size() + 100, '\0');
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 1, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

struct Member {
  std::string name, bytes;
  bool deflate = false;
  uint64_t claimed_bytes = UINT64_MAX;  // unpacked; UINT64_MAX: the truth
};

// An archive whose directory has every number in zip64 extras; local headers say nothing.
std::string Zip64(const std::vector<Member>& members) {
  std::string out, directory;
  for (const Member& member : members) {
    const std::string packed = member.deflate ? Deflated(member.bytes) : member.bytes;
    const uint64_t at = out.size();
    const auto name_bytes = static_cast<uint16_t>(member.name.size());
    const uint16_t method = member.deflate ? 8 : 0;
    out += std::string("PK\3\4\x2d\0\0\0", 8);
    AppendLE<uint16_t>(method, &out);
    out.append(16, '\0');  // time, CRC, sizes
    AppendLE<uint16_t>(name_bytes, &out);
    AppendLE<uint16_t>(0, &out);
    out += member.name + packed;
    directory += std::string("PK\1\2\x2d\0\x2d\0\0\0", 10);
    AppendLE<uint16_t>(method, &directory);
    AppendLE<uint32_t>(0, &directory);
    AppendLE<uint32_t>(
        static_cast<uint32_t>(
            crc32_z(0, reinterpret_cast<const Bytef*>(member.bytes.data()), member.bytes.size())),
        &directory);
    AppendLE<uint64_t>(UINT64_MAX, &directory);
    AppendLE<uint16_t>(name_bytes, &directory);
    AppendLE<uint16_t>(28 + 5, &directory);
    directory.append(10, '\0');
    AppendLE<uint32_t>(UINT32_MAX, &directory);
    directory += member.name;
    directory += std::string("\x99\x99\1\0x", 5);  // an extra field of another kind comes first
    AppendLE<uint16_t>(1, &directory);
    AppendLE<uint16_t>(24, &directory);
    const bool truth = member.claimed_bytes == UINT64_MAX;
    AppendLE<uint64_t>(truth ? member.bytes.size() : member.claimed_bytes, &directory);
    AppendLE<uint64_t>(packed.size(), &directory);
    AppendLE<uint64_t>(at, &directory);
  }
  const uint64_t start = out.size();
  out += directory;
  const uint64_t end64 = out.size();
  out += "PK\6\6";
  AppendLE<uint64_t>(44, &out);
  out.append(12, '\0');
  AppendLE<uint64_t>(members.size(), &out);
  AppendLE<uint64_t>(members.size(), &out);
  AppendLE<uint64_t>(directory.size(), &out);
  AppendLE<uint64_t>(start, &out);
  out += std::string("PK\6\7\0\0\0\0", 8);
  AppendLE<uint64_t>(end64, &out);
  AppendLE<uint32_t>(1, &out);
  out += std::string("PK\5\6\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\3\0abc", 25);
  return out;
}

std::string Floats(std::initializer_list<float> values) {
  std::string bytes;
  for (const float value : values) AppendLE<float>(value, &bytes);
  return bytes;
}

std::string Committed(const std::string& name) {
  return test::ReadFile(test::DataFile("cases/npz_plain/" + name));
}

TEST(Npz, EverySizeInZip64ExtrasAndACommentBehind) {
  for (const bool deflate : {false, true}) {
    const std::string archive = Zip64(
        {{"sub/emb.npy", Npy("<f4", "(2, 2)", Floats({1, 2, 3, 4})), deflate}, {"notes", "x"}});
    const Read read = ReadBytes(archive);
    EDO_EXPECT_OK(read.status);
    EXPECT_THAT(read.values, ElementsAre(1, 2, 3, 4));
    EXPECT_EQ(read.info.format, "npz");
    EXPECT_EQ(read.info.key_kind, KeyKind::kDense);
    EXPECT_EQ(read.info.compression, deflate ? "deflate" : "");
    ASSERT_EQ(read.info.tensors.size(), 1u);
    EXPECT_EQ(read.info.tensors[0].name, "sub/emb");
    EXPECT_EQ(read.info.tensors[0].dtype, "<f4");
    EXPECT_THAT(read.info.tensors[0].shape, ElementsAre(2, 2));
  }
}

TEST(Npz, EveryCutIsRefused) {
  for (const char* name : {"stored.npz", "deflated.npz", "fortran_stored.npz"}) {
    const std::string whole = Committed(name);
    EDO_EXPECT_OK(ReadBytes(whole).status);
    for (size_t cut = 4; cut < whole.size(); ++cut) {
      const Read read = ReadBytes(std::string_view(whole).substr(0, cut));
      ASSERT_FALSE(read.status.ok()) << name << " cut at " << cut;
      EXPECT_THAT(Message(read), HasSubstr("zip central directory")) << cut;
    }
  }
}

TEST(Npz, AnyByteFlippedIsRefusedOrChangesNoValue) {
  for (const char* name : {"stored.npz", "deflated.npz", "fortran_stored.npz"}) {
    std::string bytes = Committed(name);
    const std::vector<float> values = ReadBytes(bytes).values;
    ASSERT_EQ(values.size(), 9u);
    SourceOptions options;
    options.format = "npz";
    for (size_t i = 0; i < bytes.size(); ++i) {
      for (const char bit : {'\x01', '\x80'}) {
        bytes[i] = static_cast<char>(bytes[i] ^ bit);
        const Read read = ReadBytes(bytes, options);
        if (read.status.ok()) {
          EXPECT_EQ(read.values, values) << name << " byte " << i;
        }
        bytes[i] = static_cast<char>(bytes[i] ^ bit);
      }
    }
  }
}

TEST(Npz, SizesThatLieAreRefused) {
  const std::string array = Npy("<f4", "(2, 2)", Floats({1, 2, 3, 4}));
  for (const bool deflate : {false, true}) {
    for (const uint64_t claim : {uint64_t{0}, uint64_t{1}, uint64_t{64}, uint64_t{143},
                                 uint64_t{145}, uint64_t{1} << 40, UINT64_MAX - 1}) {
      const Read read = ReadBytes(Zip64({{"a.npy", array, deflate, claim}}));
      EXPECT_FALSE(read.status.ok()) << claim << " deflated " << deflate;
      EXPECT_THAT(Message(read), HasSubstr("a.npy"));
    }
  }
  // More rows than there are bytes, and bytes behind the rows.
  const std::string row = Floats({1, 2});
  for (const char* shape : {"(99999999999, 2)", "(4611686018427387904, 2)", "(2, 65536)"}) {
    EXPECT_FALSE(ReadBytes(Zip64({{"a.npy", Npy("<f4", shape, row), true}})).status.ok()) << shape;
  }
  EXPECT_THAT(Message(ReadBytes(Zip64({{"a.npy", Npy("<f4", "(1, 1)", row), true}}))),
              HasSubstr("bytes follow"));
}

TEST(Npz, ABombIsBoundByTheShapeThatItDeclares) {
  const std::string zeros(size_t{32} << 20, '\0');
  const Read read = ReadBytes(Zip64({{"a.npy", Npy("<f4", "(2, 2)", zeros), true}}));
  EXPECT_THAT(Message(read), HasSubstr("follow the last row"));
  EXPECT_THAT(Message(ReadBytes(Zip64({{"emb.npy", Npy("<f4", "(1, 1)", Floats({1}))},
                                       {"ids.npy", Npy("<i8", "(1,)", zeros), true}}))),
              HasSubstr("follow the last of 1 key"));
}

TEST(Npz, ChecksumsOfKeysCountToo) {
  std::string archive = Zip64(
      {{"emb.npy", Npy("<f4", "(1, 1)", Floats({1}))}, {"words.npy", Npy("|S4", "(1,)", "word")}});
  EXPECT_THAT(ReadBytes(archive).keys, ElementsAre("word"));
  archive[archive.find("word", archive.find("|S4"))] = 'l';
  EXPECT_THAT(Message(ReadBytes(archive)), HasSubstr("entry words.npy: its bytes have CRC-32"));
}

TEST(Npz, NamesThatChooseKeysNeedTheRightTypeAndShape) {
  const Member rows{"emb.npy", Npy("<f4", "(2, 1)", Floats({1, 2}))};
  const auto kind_with = [&](const char* name, const char* descr, const char* shape, size_t bytes) {
    const Read read = ReadBytes(Zip64({rows, {name, Npy(descr, shape, std::string(bytes, '\1'))}}));
    EDO_EXPECT_OK(read.status);
    return read.info.key_kind;
  };
  EXPECT_EQ(kind_with("ids.npy", "<i4", "(2,)", 8), KeyKind::kInt64);
  EXPECT_EQ(kind_with("indices.npy", ">i2", "(2, 1)", 4), KeyKind::kInt64);
  EXPECT_EQ(kind_with("keys.npy", "|S1", "(2,)", 2), KeyKind::kText);
  EXPECT_EQ(kind_with("vocab.npy", "|S1", "(2,)", 2), KeyKind::kText);
  EXPECT_EQ(kind_with("vocab.npy", "<i4", "(2,)", 8), KeyKind::kDense);
  EXPECT_EQ(kind_with("ids.npy", "<f4", "(2,)", 8), KeyKind::kDense);
  EXPECT_EQ(kind_with("ids.npy", "<i8", "(2, 2)", 32), KeyKind::kDense);
  EXPECT_EQ(kind_with("Ids.npy", "<i8", "(2,)", 16), KeyKind::kDense);
}

TEST(Npz, OptionsThatDoNotFitAreRefused) {
  SourceOptions options;
  options.keys = "npz:ids";
  EXPECT_EQ(ReadBytes("a 1\nb 2\n", options).status.code(), StatusCode::kInvalidArgument);
  options.keys_dtype = "i64";
  EXPECT_EQ(ReadBytes(Committed("two_keys.npz"), options).status.code(),
            StatusCode::kInvalidArgument);
  options = {};
  options.tensor = "none";
  EXPECT_EQ(ReadBytes(Committed("stored.npz"), options).status.code(), StatusCode::kNotFound);
}

TEST(Npz, TwoEntriesOfOneNameAreRefused) {
  const std::string array = Npy("<f4", "(1, 1)", Floats({1}));
  EXPECT_THAT(Message(ReadBytes(Zip64({{"a.npy", array}, {"a.npy", array}}))),
              HasSubstr("two entries"));
}

TEST(Npz, APipeIsRefusedWithTheReason) {
  const test::TempDir directory;
  const std::string path = directory.File("fifo");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { test::WriteFile(path, Committed("stored.npz")); });
  SourceOptions options;
  options.path = path;
  const auto reader = OpenRowReader(options);
  writer.join();
  EXPECT_THAT(std::string(reader.status().message()), HasSubstr("seekable"));
}

TEST(Npz, ALargeArrayComesInBatches) {
  std::string data(size_t{3} * 400000 * 4, '\0');
  for (size_t i = 0; i < data.size() / 4; ++i) StoreLE(static_cast<float>(i), data.data() + 4 * i);
  for (const bool deflate : {false, true}) {
    const Read read = ReadBytes(Zip64({{"a.npy", Npy("<f4", "(400000, 3)", data), deflate}}));
    EDO_EXPECT_OK(read.status);
    ASSERT_EQ(read.values.size(), 1200000u);
    EXPECT_EQ(std::memcmp(read.values.data(), data.data(), data.size()), 0);
  }
}

}  // namespace
}  // namespace edo::storage
