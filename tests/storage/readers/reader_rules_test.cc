// Rules of reading that the cases do not cover: lenient options, limits, keys from other files,
// pipes, compression, memory that a lying header must not take.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include <cmath>
#include <thread>

#include "storage/readers/base64.h"
#include "storage/readers/readers.h"
#include "storage/readers/utf8.h"
#include "storage/row_reader.h"
#include "tests/support/test_util.h"

namespace edo::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Read {
  Status status;
  std::vector<std::string> keys;
  std::vector<int64_t> ids;
  std::vector<float> values;
  std::vector<uint64_t> positions;
  std::vector<ImportNote> notes;
  SourceCounts counts;
  SourceInfo info;
};

Read Drain(Result<std::unique_ptr<RowReader>> reader, Read read) {
  read.status = reader.status();
  if (!reader.ok()) return read;
  RowBatch batch;
  for (;;) {
    const auto more = (*reader)->Next(&batch);
    read.status = more.status();
    if (!more.ok() || !*more) break;
    for (size_t i = 0; i < batch.key_ends.size(); ++i) read.keys.emplace_back(batch.text_key(i));
    read.ids.insert(read.ids.end(), batch.int_keys.begin(), batch.int_keys.end());
    read.values.insert(read.values.end(), batch.values.begin(), batch.values.end());
    read.positions.insert(read.positions.end(), batch.positions.begin(), batch.positions.end());
  }
  read.counts = (*reader)->counts();
  read.info = (*reader)->info();
  return read;
}

Read ReadText(std::string_view bytes, SourceOptions options) {
  Read read;
  options.path = "memory";
  options.note = [&read](const ImportNote& note) { read.notes.push_back(note); };
  auto input = Input::FromMemory("memory", bytes);
  if (!input.ok()) {
    read.status = input.status();
    return read;
  }
  Read result = Drain(OpenRowReaderOn(std::move(*input), options), {});
  result.notes = read.notes;
  return result;
}

Read ReadPath(SourceOptions options) { return Drain(OpenRowReader(options), {}); }

std::string Message(const Read& read) { return std::string(read.status.message()); }

TEST(Rules, ABadRowIsSkippedCountedAndNoted) {
  SourceOptions options;
  options.on_bad_row = OnBadRow::kSkip;
  const Read read = ReadText("4 2\na 1 2\nb 1 x\nc nan 1\nd 3 4\n", options);
  EDO_EXPECT_OK(read.status);
  EXPECT_THAT(read.keys, ElementsAre("a", "d"));
  EXPECT_THAT(read.values, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(read.positions, ElementsAre(2, 5));
  EXPECT_EQ(read.counts.rows_skipped, 2u);
  ASSERT_EQ(read.notes.size(), 2u);
  EXPECT_EQ(read.notes[0].position, 3u);
  EXPECT_EQ(read.notes[0].key, "b");
  EXPECT_THAT(read.notes[0].what, HasSubstr("'x' is not a number"));
}

TEST(Rules, NonFiniteValuesBecomeZeroOrStay) {
  SourceOptions options;
  options.non_finite = OnNonFinite::kZero;
  Read read = ReadText("a nan 1\nb 1e39 -inf\n", options);
  EDO_EXPECT_OK(read.status);
  EXPECT_THAT(read.values, ElementsAre(0, 1, 0, 0));
  EXPECT_EQ(read.counts.values_changed, 3u);
  ASSERT_EQ(read.notes.size(), 3u);
  EXPECT_THAT(read.notes[1].what, HasSubstr("1e39"));
  options.non_finite = OnNonFinite::kKeep;
  read = ReadText("a nan 1\nb 1e39 -inf\n", options);
  EDO_EXPECT_OK(read.status);
  EXPECT_TRUE(std::isnan(read.values[0]));
  EXPECT_EQ(read.values[2], INFINITY);
  EXPECT_EQ(read.counts.values_non_finite, 3u);
}

TEST(Rules, InvalidUtf8IsReplacedWhereAsked) {
  SourceOptions options;
  options.invalid_utf8 = OnInvalidUtf8::kReplace;
  const Read read = ReadText("a\xff\xfe 1\n\xe5\xad 2\n", options);
  EDO_EXPECT_OK(read.status);
  EXPECT_THAT(read.keys, ElementsAre("a\xef\xbf\xbd\xef\xbf\xbd", "\xef\xbf\xbd"));
  EXPECT_EQ(read.counts.keys_changed, 2u);
  EXPECT_EQ(ReplaceInvalidUtf8("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(FirstInvalidUtf8("abcdefgh\xc0\x80"), 8u);
}

TEST(Rules, TheLimitStopsBeforeAFault) {
  SourceOptions options;
  options.limit = 1;
  const Read read = ReadText("3 1\na 1\nb x\n", options);
  EDO_EXPECT_OK(read.status);
  EXPECT_THAT(read.keys, ElementsAre("a"));
}

TEST(Rules, TextThatMisleads) {
  SourceOptions options;
  options.format = "word2vec";
  EXPECT_THAT(Message(ReadText("3 2\na 1 2\nb 1 2\n", options)),
              HasSubstr("header says 3 rows, found 2"));
  EXPECT_THAT(Message(ReadText("1 2\nnew york 1\n", options)),
              HasSubstr("expected 2 values, found 1"));
  EXPECT_THAT(Message(ReadText("2 2\na 1 2\nb 1 2 3\n", options)),
              HasSubstr("expected 2 values, found 3"));
  EXPECT_THAT(Message(ReadText("10000 300 3 6 2 2147483647 < >\n", options)), HasSubstr("floret"));
  EXPECT_THAT(Message(ReadText("1 0\n", options)), HasSubstr("dimension 0"));
  EXPECT_THAT(Message(ReadText("1 99999999999\n", options)), HasSubstr("65536"));
  options.format = "glove";
  EXPECT_THAT(Message(ReadText("a 1 2 3\nb 1 2 3\nc 1 2\n", options)),
              HasSubstr("expected 3 values, found 2"));
  EXPECT_THAT(Message(ReadText("a 1\n\nb 2\n", options)), HasSubstr("line 2"));
  EXPECT_THAT(Message(ReadText("a 0,5 1,5\n", options)), HasSubstr("comma"));
  EXPECT_THAT(Message(ReadText("a 1 2\rb 3 4\r", options)), HasSubstr("CR"));
  EXPECT_THAT(ReadText("a\rb 1 2", options).status.ok(), false);
  EXPECT_THAT(ReadText("a\rb 1 2\n", options).keys, ElementsAre("a\rb"));
  EXPECT_THAT(ReadText("a 1 2", options).keys, ElementsAre("a"));
  EXPECT_THAT(Message(ReadText("a 1 2\nb 1 2\nc 1 2d 3 4\n", options)), HasSubstr("two rows"));
  const std::string utf16(
      "3\0 \0"
      "4\0\n\0",
      8);
  EXPECT_THAT(Message(ReadText(utf16, options)), HasSubstr("UTF-16"));
  options.format = "word2vec";
  EXPECT_THAT(Message(ReadText(std::string("2 1\na \0\0\0\1\nb \0\0\0\2\n", 18), options)),
              HasSubstr("binary"));
  options.format = "glove";
  const Read spaces = ReadText("new york 1 2\n  3 4\n\xc2\xa0 5 6\n", options);
  EXPECT_THAT(spaces.keys, ElementsAre("new york", " ", "\xc2\xa0"));
}

TEST(Rules, AFirstLineOfTwoIntegersIsJudgedByTheRowsBehindIt) {
  EXPECT_THAT(Message(ReadText("1 300\nriver 0.5\n", {})),
              HasSubstr("expected 300 values, found 1"));
  EXPECT_THAT(ReadText("3 4\n5 6\n7 8\n", {}).keys, ElementsAre("3", "5", "7"));
  EXPECT_THAT(ReadText("2 1\n5 6\n7 8\n", {}).keys, ElementsAre("5", "7"));
}

TEST(Rules, AGivenDimLetsKeysEndInNumbers) {
  SourceOptions options;
  options.format = "glove";
  options.dim = 2;
  const Read read = ReadText("catch 22 1 2\n", options);
  EDO_EXPECT_OK(read.status);
  EXPECT_THAT(read.keys, ElementsAre("catch 22"));
}

TEST(Rules, CsvQuotesAndKeyKinds) {
  SourceOptions options;
  options.format = "csv";
  Read read = ReadText("id,x,y\n\"a,\"\"b\"\"\r\nc\",1,2\r\nd,\"3\",4", options);
  EDO_EXPECT_OK(read.status);
  EXPECT_THAT(read.keys, ElementsAre("a,\"b\"\r\nc", "d"));
  EXPECT_THAT(read.positions, ElementsAre(2, 4));
  EXPECT_EQ(ReadText("7,1\n-8,2\n", options).info.key_kind, KeyKind::kInt64);
  EXPECT_EQ(ReadText("7,1\n08,2\n", options).info.key_kind, KeyKind::kText);
  EXPECT_THAT(Message(ReadText("a,1\nb\"c,2\n", options)), HasSubstr("line 2"));
  EXPECT_THAT(Message(ReadText("a,1\n\"b\"c,2\n", options)), HasSubstr("closing quote"));
  read = ReadText("a,1,abc\nb,1,2\n", options);  // one bad value makes no header
  EXPECT_THAT(Message(read), HasSubstr("line 1"));
}

TEST(Rules, JsonlForms) {
  SourceOptions options;
  options.format = "jsonl";
  const Read read = ReadText(
      "{\"x\": {\"y\": [1, {\"z\": null}]}, \"word\": \"\\u00e9\\ud83d\\ude00\", \"embedding\": "
      "[1, -2e0]}\n"
      "[\"k\", [0.5, 3]]\n{\"id_base64\": \"/w==\", \"vector\": [1, 2]}\n",
      options);
  EDO_EXPECT_OK(read.status);
  EXPECT_THAT(read.keys, ElementsAre("\xc3\xa9\xf0\x9f\x98\x80", "k", "\xff"));
  for (const char* bad :
       {"{\"id\":1,\"vector\":[01]}", "{\"id\":1,\"vector\":[1.]}", "{\"id\":1,\"vector\":[.5]}",
        "{\"id\":1,\"vector\":[+1]}", "{\"id\":1,\"vector\":[1,]}", "{\"id\":1,\"vector\":[]}",
        "{\"id\":1,\"vector\":[1]} x", "{\"id\":1,\"vector\":[\"x\"]}",
        "{\"id\":1,\"vector\":[1],}", "{\"id\":1 \"vector\":[1]}", "{}", "[]", "nul"}) {
    EXPECT_FALSE(ReadText(bad, options).status.ok()) << bad;
  }
  const std::string deep = "{\"id\":1,\"x\":" + std::string(100000, '[') + "}";
  EXPECT_THAT(Message(ReadText(deep, options)), HasSubstr("deep"));
  EXPECT_EQ(DecodeBase64(EncodeBase64("ab\xff")), "ab\xff");
}

TEST(Rules, EmptyInputs) {
  for (const char* format : {"", "word2vec", "glove", "csv", "jsonl", "npy", "npz", "edo",
                             "word2vec-bin", "safetensors"}) {
    SourceOptions options;
    options.format = format;
    EXPECT_THAT(Message(ReadText("", options)), HasSubstr("0 bytes")) << format;
  }
  SourceOptions options;
  options.format = "raw";
  options.dim = 4;
  options.dtype = "f32";
  const Read read = ReadText("", options);
  EDO_EXPECT_OK(read.status);
  EXPECT_TRUE(read.values.empty());
}

TEST(Rules, OptionsThatDoNotFitAreRefused) {
  SourceOptions options;
  options.format = "word3vec";
  EXPECT_EQ(ReadText("1 1\na 1\n", options).status.code(), StatusCode::kInvalidArgument);
  options.format = "glove";
  options.tensor = "x";
  EXPECT_EQ(ReadText("a 1\n", options).status.code(), StatusCode::kInvalidArgument);
  options = {};
  options.path = "/nonexistent/file";
  EXPECT_EQ(ReadPath(options).status.code(), StatusCode::kNotFound);
  options.path = "/tmp";
  EXPECT_THAT(Message(ReadPath(options)), HasSubstr("is a directory"));
}

class KeysTest : public ::testing::Test {
 protected:
  Read ReadRaw(const std::string& keys_name, std::string_view keys, const std::string& dtype = "") {
    test::WriteFile(directory_.File(keys_name), keys);
    test::WriteFile(directory_.File("v"), std::string(12, '\0'));  // 3 rows of dim 1
    SourceOptions options;
    options.path = directory_.File("v");
    options.format = "raw";
    options.dim = 1;
    options.dtype = "f32";
    options.keys = keys_name == "dense" ? "dense" : directory_.File(keys_name);
    options.keys_dtype = dtype;
    return ReadPath(options);
  }
  test::TempDir directory_;
};

TEST_F(KeysTest, FromEverySource) {
  EXPECT_THAT(ReadRaw("k.txt", "a\r\n\nb c").keys, ElementsAre("a", "", "b c"));
  EXPECT_THAT(ReadRaw("k.bin", std::string("\1\0\0\0\xff\xff\xff\xff\0\0\0\0", 12), "i32").ids,
              ElementsAre(1, -1, 0));
  EXPECT_THAT(ReadRaw("k.json", "{\"b\":1,\"a\":0,\"c\":2}").keys, ElementsAre("a", "b", "c"));
  EXPECT_THAT(ReadRaw("t.json",
                      "{\"added_tokens\":[{\"id\":2,\"content\":\"<s>\"}],\"model\":{\"vocab\":"
                      "{\"a\":0,\"b\":1}}}")
                  .keys,
              ElementsAre("a", "b", "<s>"));
  EXPECT_THAT(ReadRaw("u.json", "{\"model\":{\"vocab\":[[\"x\",-1.5],[\"y\",0],[\"z\",1]]}}").keys,
              ElementsAre("x", "y", "z"));
}

TEST_F(KeysTest, FromNumpyStrings) {
  std::string dict = "{'descr': '<U2', 'fortran_order': False, 'shape': (3,), }";
  dict.resize(117, ' ');
  std::string file("\x93NUMPY\1\0\x76\0", 10);
  file += dict + "\n";
  file += std::string("a\0\0\0\0\0\0\0\xe9\0\0\0b\0\0\0\0\0\0\0\0\0\0\0", 24);
  EXPECT_THAT(ReadRaw("k.npy", file).keys, ElementsAre("a",
                                                       "\xc3\xa9"
                                                       "b",
                                                       ""));
  EXPECT_THAT(Message(ReadRaw("k.npy", file.substr(0, file.size() - 1))), HasSubstr("truncated"));
}

TEST_F(KeysTest, ACountThatDiffersNamesBothNumbers) {
  EXPECT_THAT(Message(ReadRaw("k.txt", "a\nb\n")), HasSubstr("2 keys, 3 rows"));
  EXPECT_THAT(Message(ReadRaw("k.txt", "a\nb\nc\nd\ne\n")), HasSubstr("5 keys, 3 rows"));
  EXPECT_THAT(Message(ReadRaw("k.json", "{\"a\":0}")), HasSubstr("1 key, 3 rows"));
  EXPECT_THAT(Message(ReadRaw("k.json", "{\"a\":0,\"b\":2}")), HasSubstr("no token has id 1"));
  EXPECT_THAT(Message(ReadRaw("k.u64", std::string(23, 'x'))), HasSubstr("23 bytes"));
}

TEST_F(KeysTest, UnsignedIdsBeyondSignedAreRefusedWithRowAndValue) {
  const std::string ids = std::string(8, '\0') + std::string(8, '\xff') + std::string(8, '\1');
  const Read read = ReadRaw("k", ids, "u64");
  EXPECT_THAT(Message(read), HasSubstr("row 1"));
  EXPECT_THAT(Message(read), HasSubstr("18446744073709551615"));
}

TEST(Pipes, AFifoIsReadAsAFileIs) {
  const test::TempDir directory;
  const std::string path = directory.File("fifo");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  for (const std::string bytes : {"2 1\na 1\nb 2\n", "a 1\nb 2\n", "[\"a\",[1]]\n[\"b\",[2]]\n",
                                  "a,1\nb,2\n", "a\t1\nb\t2\n"}) {
    std::thread writer([&] { test::WriteFile(path, bytes); });
    SourceOptions options;
    options.path = path;
    const Read read = ReadPath(options);
    writer.join();
    EDO_EXPECT_OK(read.status);
    EXPECT_THAT(read.keys, ElementsAre("a", "b")) << bytes;
    EXPECT_EQ(read.info.rows.has_value(), bytes[0] == '2');
  }
}

std::string Gzip(std::string_view bytes) {
  std::string out(bytes.size() + 100, '\0');
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(Compressed, MembersAndFramesFollowOneAnother) {
  const std::string first = "3 1\na 1\nb", rest = " 2\nc 3\n";
  const Read gzip = ReadText(Gzip(first) + Gzip(rest), {});
  EDO_EXPECT_OK(gzip.status);
  EXPECT_THAT(gzip.keys, ElementsAre("a", "b", "c"));
  EXPECT_EQ(gzip.info.compression, "gzip");
  std::string zstd;
  for (const std::string& part : {first, rest}) {
    std::string frame(ZSTD_compressBound(part.size()), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), part.data(), part.size(), 1));
    zstd += frame;
  }
  const Read read = ReadText(zstd, {});
  EDO_EXPECT_OK(read.status);
  EXPECT_EQ(read.info.compression, "zstd");
  EXPECT_THAT(Message(ReadText(zstd.substr(0, zstd.size() - 1), {})), HasSubstr("truncated"));
  EXPECT_THAT(Message(ReadText(Gzip(first) + "junk", {})), HasSubstr("gzip data is damaged"));
}

TEST(Compressed, EveryCutOfGzipIsNamed) {
  const std::string whole = Gzip("2 1\na 1\nb 2\n");
  for (size_t cut = 2; cut < whole.size(); ++cut) {
    const Read read = ReadText(std::string_view(whole).substr(0, cut), {});
    ASSERT_FALSE(read.status.ok()) << cut;
    EXPECT_THAT(Message(read), HasSubstr("gzip")) << cut;
  }
}

}  // namespace
}  // namespace edo::storage
