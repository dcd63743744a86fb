// Every writer, then its reader: the same keys and bit-equal values, for every key that the writer
// lets through. Values cover denormals, -0, extremes and (with non_finite = keep) infinities and
// NaN; a NaN's payload survives only in binary formats, so text formats get the quiet one. Then the
// same files cut at every byte and with bytes changed: an error or a well-formed prefix, no crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "storage/readers/readers.h"
#include "storage/row_reader.h"
#include "storage/row_writer.h"
#include "tests/support/test_util.h"

namespace edo::storage {
namespace {

struct Rows {
  KeyKind kind = KeyKind::kText;
  uint32_t dim = 1;
  std::vector<std::string> text;
  std::vector<int64_t> ints;
  std::vector<float> values;
  uint64_t count = 0;
};

const std::vector<std::string> kFormats{"word2vec", "glove",       "fasttext", "word2vec-bin",
                                        "npy",      "safetensors", "raw",      "tsv",
                                        "csv",      "jsonl",       "edo"};

TargetInfo Target(const std::string& path, const std::string& format, const Rows& rows) {
  TargetInfo target;
  target.path = path;
  target.format = format;
  target.key_kind = rows.kind;
  target.codec = CodecSpec{CodecKind::kF32};
  target.row_bytes = uint64_t{4} * rows.dim;
  target.dim = rows.dim;
  target.rows = rows.count;
  target.table = "t";
  target.metadata = {{"source", "test"}, {"note", "a \"quoted\" one"}};
  return target;
}

RowBatch BatchOf(const Rows& rows, uint64_t begin, uint64_t end, bool codes) {
  RowBatch batch;
  batch.dim = rows.dim;
  batch.row_count = end - begin;
  const float* from = rows.values.data() + begin * rows.dim;
  if (codes) {
    batch.codes.resize((end - begin) * rows.dim * 4);
    if (!batch.codes.empty()) std::memcpy(batch.codes.data(), from, batch.codes.size());
  } else {
    batch.values.assign(from, from + (end - begin) * rows.dim);
  }
  for (uint64_t i = begin; i < end; ++i) {
    if (rows.kind == KeyKind::kText) batch.AddTextKey(rows.text[i]);
    if (rows.kind == KeyKind::kInt64) batch.int_keys.push_back(rows.ints[i]);
  }
  return batch;
}

Status Write(const TargetInfo& target, const Rows& rows) {
  EDO_ASSIGN_OR_RETURN(auto writer, OpenRowWriter(target));
  for (uint64_t i = 0; i < rows.text.size(); ++i) {
    EDO_RETURN_IF_ERROR(writer->CheckKey(rows.text[i], i));
  }
  EDO_RETURN_IF_ERROR(writer->Begin());
  for (uint64_t at = 0; at < rows.count; at += 7) {
    const uint64_t end = std::min(rows.count, at + 7);
    EDO_RETURN_IF_ERROR(writer->Append(BatchOf(rows, at, end, writer->wants_codes())));
  }
  return writer->Finish();
}

SourceOptions Source(const std::string& path, const std::string& format, const Rows& rows) {
  SourceOptions source;
  source.path = path;
  source.format = format;
  source.non_finite = OnNonFinite::kKeep;
  source.invalid_utf8 = OnInvalidUtf8::kKeep;
  if (format == "raw") {
    source.dim = rows.dim;
    source.dtype = "f32";
  }
  if (rows.kind != KeyKind::kDense && format == "npy") {
    source.keys =
        path.substr(0, path.size() - 4) + (rows.kind == KeyKind::kText ? ".keys.txt" : ".keys.npy");
  }
  if (rows.kind != KeyKind::kDense && format == "raw") {
    source.keys = path + (rows.kind == KeyKind::kText ? ".keys.txt" : ".keys.i64");
  }
  const bool text_keys = format == "word2vec" || format == "glove" || format == "fasttext" ||
                         format == "word2vec-bin" || format == "tsv" || format == "csv";
  if (text_keys && rows.kind != KeyKind::kDense) source.key_kind = rows.kind;
  return source;
}

Result<Rows> Drain(RowReader* reader) {
  Rows rows;
  rows.kind = reader->info().key_kind;
  rows.dim = reader->info().dim;
  RowBatch batch;
  for (;;) {
    EDO_ASSIGN_OR_RETURN(const bool more, reader->Next(&batch));
    if (!more) return rows;
    rows.count += batch.row_count;
    EXPECT_EQ(batch.positions.size(), batch.row_count);
    if (reader->info().codec) {
      const size_t before = rows.values.size();
      rows.values.resize(before + batch.codes.size() / 4);
      std::memcpy(rows.values.data() + before, batch.codes.data(), batch.codes.size());
    } else {
      EXPECT_EQ(batch.values.size(), batch.row_count * batch.dim);
      rows.values.insert(rows.values.end(), batch.values.begin(), batch.values.end());
    }
    rows.ints.insert(rows.ints.end(), batch.int_keys.begin(), batch.int_keys.end());
    for (uint64_t i = 0; i < batch.key_ends.size(); ++i) rows.text.emplace_back(batch.text_key(i));
  }
}

Result<Rows> Read(const SourceOptions& source) {
  EDO_ASSIGN_OR_RETURN(auto reader, OpenRowReader(source));
  return Drain(reader.get());
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), 4 * a.size()) == 0);
}

float RandomValue(std::mt19937_64& random, bool non_finite) {
  const float odd[] = {0.0f,           -0.0f,           1e-45f,        -1e-45f,
                       1.1754942e-38f, 1.17549435e-38f, 3.4028235e38f, -3.4028235e38f,
                       0.1f,           16777217.0f,     1e10f,         0.30000001f,
                       1e-7f};
  if (random() % 4 == 0) return odd[random() % std::size(odd)];
  if (random() % 2 == 0)
    return static_cast<float>(static_cast<int64_t>(random() % 2000001) - 1000000) / 1e6f;
  const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
  if (std::isfinite(value)) return value;
  if (!non_finite) return 1.5f;
  if (std::isnan(value)) return std::bit_cast<float>(value < 0 ? 0xffc00000u : 0x7fc00000u);
  return value;
}

std::string RandomKey(std::mt19937_64& random) {
  static const std::vector<std::string> kPieces{"a",
                                                "word",
                                                " ",
                                                "\t",
                                                "\"",
                                                ",",
                                                "'",
                                                "\\",
                                                "1",
                                                "2.5",
                                                "-3",
                                                "1e5",
                                                "nan",
                                                "inf",
                                                "\r",
                                                "\n",
                                                "\xc2\xa0",
                                                "\xe3\x80\x80",
                                                "\xe2\x80\xa8",
                                                "\xef\xbb\xbf",
                                                "\xff",
                                                std::string(1, '\0'),
                                                "\x01",
                                                "0,5",
                                                "1:2",
                                                ";",
                                                "{\"",
                                                "[1]",
                                                "#",
                                                "<html>",
                                                "PK\x03\x04",
                                                "\x93NUMPY",
                                                "\x1f\x8b",
                                                "EDOARCH\n"};
  std::string key;
  for (uint64_t i = random() % 4; i > 0; --i) key += kPieces[random() % kPieces.size()];
  if (random() % 40 == 0) key.append(random() % 3000, 'k');
  return key;
}

Rows RandomRows(std::mt19937_64& random, KeyKind kind, bool non_finite) {
  Rows rows;
  rows.kind = kind;
  const uint32_t dims[] = {1, 2, 3, 4, 31, 33};
  rows.dim = dims[random() % std::size(dims)];
  rows.count = random() % 8 == 0 ? random() % 2 : 1 + random() % 30;
  for (uint64_t i = 0; i < rows.count; ++i) {
    if (kind == KeyKind::kText) rows.text.push_back(RandomKey(random));
    const int64_t odd[] = {0, -1, INT64_MAX, INT64_MIN, 9007199254740993};
    if (kind == KeyKind::kInt64) {
      rows.ints.push_back(random() % 2 ? odd[random() % 5] : static_cast<int64_t>(random()));
    }
    for (uint32_t j = 0; j < rows.dim; ++j) rows.values.push_back(RandomValue(random, non_finite));
  }
  return rows;
}

// Keys that the format refuses are dropped, so that the rest is tried.
void DropRefused(const TargetInfo& target, Rows* rows) {
  auto writer = OpenRowWriter(target);
  ASSERT_TRUE(writer.ok());
  for (size_t i = 0; i < rows->text.size();) {
    if ((*writer)->CheckKey(rows->text[i], i).ok()) {
      ++i;
      continue;
    }
    rows->text.erase(rows->text.begin() + static_cast<ptrdiff_t>(i));
    const auto first = rows->values.begin() + static_cast<ptrdiff_t>(i * rows->dim);
    rows->values.erase(first, first + rows->dim);
    --rows->count;
  }
}

void CheckRoundTrip(const std::string& format, Rows rows, const test::TempDir& directory) {
  const std::string path = directory.File("t." + std::string(format == "npy" ? "npy" : "out"));
  DropRefused(Target(path, format, rows), &rows);
  TargetInfo target = Target(path, format, rows);
  target.force = true;
  const Status written = Write(target, rows);
  if (rows.count == 0 && (format == "glove" || format == "jsonl")) {
    EXPECT_EQ(written.code(), StatusCode::kBadInput);
    return;
  }
  EDO_ASSERT_OK(written);
  const auto back = Read(Source(path, format, rows));
  // A headerless table of dim 1 whose first row looks like a header cannot be told from one.
  if (!back.ok() && format == "glove") {
    EXPECT_THAT(std::string(back.status().message()), ::testing::HasSubstr("header"));
  }
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->count, rows.count);
  EXPECT_EQ(back->dim, rows.dim);
  EXPECT_TRUE(SameBits(back->values, rows.values));
  if (rows.kind == KeyKind::kText) {
    EXPECT_EQ(back->text, rows.text);
  }
  if (rows.kind == KeyKind::kInt64) {
    EXPECT_EQ(back->ints, rows.ints);
  }
}

TEST(RoundTrip, EveryFormatGivesBackKeysAndBits) {
  std::mt19937_64 random(test::Seed(1));
  const test::TempDir directory;
  for (int round = 0; round < 60; ++round) {
    for (const KeyKind kind : {KeyKind::kDense, KeyKind::kInt64, KeyKind::kText}) {
      const Rows rows = RandomRows(random, kind, round % 2 == 1);
      for (const std::string& format : kFormats) {
        SCOPED_TRACE(format + " round " + std::to_string(round) + " kind " +
                     std::string(KeyKindName(kind)) + " dim " + std::to_string(rows.dim));
        CheckRoundTrip(format, rows, directory);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Keys that would be numbers with decimal commas between semicolons.
TEST(RoundTrip, KeysWithSemicolonsBeforeOneValue) {
  const test::TempDir directory;
  Rows rows;
  rows.kind = KeyKind::kText;
  rows.dim = 1;
  rows.count = 2;
  rows.text = {"a;1", "b;-2;3"};
  rows.values = {5, 0.5f};
  for (const std::string& format : kFormats) CheckRoundTrip(format, rows, directory);
}

TEST(RoundTrip, SixteenBitTypesComeBackAsTheirNearest) {
  const test::TempDir directory;
  Rows rows;
  rows.kind = KeyKind::kDense;
  rows.dim = 2;
  rows.count = 2;
  rows.values = {1.5f, -0.25f, 65504.0f, 0.0f};
  for (const FloatType type : {FloatType::kF16, FloatType::kBF16}) {
    for (const std::string format : {"npy", "safetensors", "raw"}) {
      TargetInfo target = Target(directory.File("h." + format), format, rows);
      target.dtype = type;
      target.force = true;
      EDO_ASSERT_OK(Write(target, rows));
      SourceOptions source = Source(target.path, format, rows);
      if (format == "raw" || (format == "npy" && type == FloatType::kBF16)) {
        source.dtype = FloatTypeName(type);
      }
      const auto back = Read(source);
      ASSERT_TRUE(back.ok()) << format << back.status().ToString();
      EXPECT_EQ(back->values[0], 1.5f);
      EXPECT_EQ(back->values[2], type == FloatType::kF16 ? 65504.0f : 65536.0f);
    }
  }
  rows.values[3] = 70000.0f;
  TargetInfo target = Target(directory.File("over.npy"), "npy", rows);
  target.dtype = FloatType::kF16;
  const Status status = Write(target, rows);
  EXPECT_EQ(status.code(), StatusCode::kBadInput);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("row 1"));
  EXPECT_FALSE(std::filesystem::exists(target.path));
}

Rows SmallRows(KeyKind kind) {
  Rows rows;
  rows.kind = kind;
  rows.dim = 3;
  rows.count = 3;
  rows.text = {"ab", "c d", "e\"f"};
  if (kind != KeyKind::kText) rows.text.clear();
  rows.ints = {5, -7, INT64_MAX};
  rows.values = {0.5f, -1.25f, 3, 1e-7f, 2, 4, 1e20f, 0, -0.0f};
  return rows;
}

SourceOptions InMemory(const std::string& format) {
  SourceOptions source;
  source.path = "memory";
  source.format = format;
  if (format == "raw") {
    source.dim = 3;
    source.dtype = "f32";
  }
  return source;
}

Result<Rows> ReadBytes(const std::string& format, std::string_view bytes) {
  EDO_ASSIGN_OR_RETURN(auto input, Input::FromMemory("memory", bytes));
  EDO_ASSIGN_OR_RETURN(auto reader, OpenRowReaderOn(std::move(input), InMemory(format)));
  return Drain(reader.get());
}

TEST(Damage, AFileCutAtAnyByteIsAnErrorOrAPrefix) {
  const test::TempDir directory;
  for (const std::string& format : kFormats) {
    for (const KeyKind kind : {KeyKind::kInt64, KeyKind::kText}) {
      Rows rows = SmallRows(kind);
      TargetInfo target = Target(directory.File("cut"), format, rows);
      DropRefused(target, &rows);
      target = Target(directory.File("cut"), format, rows);
      target.force = true;
      EDO_ASSERT_OK(Write(target, rows));
      const std::string bytes = test::ReadFile(target.path);
      for (size_t cut = 0; cut < bytes.size(); ++cut) {
        const auto back = ReadBytes(format, std::string_view(bytes).substr(0, cut));
        if (!back.ok()) continue;
        SCOPED_TRACE(format + " cut at " + std::to_string(cut) + " of " +
                     std::to_string(bytes.size()));
        EXPECT_LE(back->count, rows.count);
        // Only text lines can end early and still be whole, and raw rows at their borders.
        EXPECT_TRUE(format != "npy" && format != "safetensors" && format != "edo");
        if (format == "word2vec" || format == "fasttext" || format == "word2vec-bin") {
          EXPECT_EQ(back->count, rows.count);
        }
      }
    }
  }
}

TEST(Damage, ChangedBytesNeverCrashAndAnArchiveNeverLies) {
  std::mt19937_64 random(test::Seed(3));
  const test::TempDir directory;
  for (const std::string& format : kFormats) {
    Rows rows = SmallRows(KeyKind::kText);
    DropRefused(Target(directory.File("flip"), format, rows), &rows);
    TargetInfo target = Target(directory.File("flip"), format, rows);
    target.force = true;
    EDO_ASSERT_OK(Write(target, rows));
    const std::string bytes = test::ReadFile(target.path);
    for (int round = 0; round < 2000; ++round) {
      std::string changed = bytes;
      for (uint64_t i = 1 + random() % 3; i > 0; --i) {
        changed[random() % changed.size()] = static_cast<char>(random());
      }
      const auto back = ReadBytes(format, changed);
      if (format == "edo" && back.ok()) {
        EXPECT_TRUE(SameBits(back->values, rows.values));
      }
    }
  }
}

TEST(Damage, ACompressedFileCutAnywhereIsAnError) {
  Rows rows = SmallRows(KeyKind::kText);
  const test::TempDir directory;
  const std::string path = directory.File("t.edo");
  EDO_ASSERT_OK(Write(Target(path, "edo", rows), rows));
  const std::string bytes = test::ReadFile(path);
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    const auto back = ReadBytes("edo", std::string_view(bytes).substr(0, cut));
    ASSERT_FALSE(back.ok()) << cut;
    EXPECT_THAT(std::string(back.status().message()), ::testing::HasSubstr("byte")) << cut;
  }
}

// Found by seed 1001: an empty key before the value 0 read back as a header of column numbers.
TEST(RoundTrip, TsvRefusesAnEmptyKeyInTheFirstRow) {
  TargetInfo target;
  target.path = "-";
  target.format = "tsv";
  target.key_kind = KeyKind::kText;
  target.dim = 1;
  target.rows = 2;
  const auto writer = OpenRowWriter(target);
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ((*writer)->CheckKey("", 0).code(), StatusCode::kBadInput);
  EDO_EXPECT_OK((*writer)->CheckKey("", 1));
}

}  // namespace
}  // namespace edo::storage
