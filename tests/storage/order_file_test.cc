// Files of an order: counts and traces, plain and as JSON lines, for each kind of keys; and every
// fault with the line, what was found and what was expected.
#include "storage/readers/order_file.h"

#include <gtest/gtest.h>

#include "tests/support/test_util.h"

namespace edo::storage {
namespace {

struct Parsed {
  std::vector<std::string> lines;  // "NUMBER: KEY KEY ... [= COUNT]"
  std::string error;
};

Parsed Parse(std::string_view bytes, OrderKind kind, KeyKind keys) {
  Parsed parsed;
  auto reader = OrderFileReader::OnBytes(bytes, kind, keys);
  if (!reader.ok()) {
    parsed.error = reader.status().ToString();
    return parsed;
  }
  KeyLines lines;
  for (;;) {
    const auto more = (*reader)->Next(&lines);
    if (!more.ok()) parsed.error = more.status().message();
    if (!more.ok() || !*more) return parsed;
    size_t key = 0;
    for (const KeyLines::Line& line : lines.lines) {
      std::string text = std::to_string(line.number) + ":";
      for (; key < line.end; ++key) text += " " + lines.NameOf(key);
      if (kind != OrderKind::kTrace) text += " = " + std::to_string(line.count);
      parsed.lines.push_back(text);
    }
  }
}

using Lines = std::vector<std::string>;

TEST(OrderFile, CountsOfEachKindOfKeys) {
  const Parsed text =
      Parse("river\t5\r\n\n\t0\na b\t18446744073709551615", OrderKind::kCounts, KeyKind::kText);
  EXPECT_EQ(text.error, "");
  EXPECT_EQ(text.lines, (Lines{"1: 'river' = 5", "3: '' = 0", "4: 'a b' = 18446744073709551615"}));
  const Parsed ints = Parse("7\t1\n-9\t2\n", OrderKind::kTiered, KeyKind::kInt64);
  EXPECT_EQ(ints.error, "");
  EXPECT_EQ(ints.lines, (Lines{"1: 7 = 1", "2: -9 = 2"}));
  const Parsed json = Parse("[\"a\\tb\", 5]\n[\"\\n\", 0]\n", OrderKind::kCounts, KeyKind::kText);
  EXPECT_EQ(json.error, "");
  EXPECT_EQ(json.lines, (Lines{"1: 'a\\x09b' = 5", "2: '\\x0a' = 0"}));
  EXPECT_TRUE(Parse("", OrderKind::kCounts, KeyKind::kText).lines.empty());
}

TEST(OrderFile, TracesOfEachKindOfKeys) {
  const Parsed text = Parse("a  b\tc \n \t\n[ d ]\n", OrderKind::kTrace, KeyKind::kText);
  EXPECT_EQ(text.error, "");
  EXPECT_EQ(text.lines, (Lines{"1: 'a' 'b' 'c'", "3: '[' 'd' ']'"}));
  EXPECT_EQ(Parse("[ d ]\n[\"e\"]\n", OrderKind::kTrace, KeyKind::kText).lines,
            (Lines{"1: '[' 'd' ']'", "2: '[\"e\"]'"}))
      << "the first line decides";
  EXPECT_EQ(Parse("[\"new york\", \"b\"]\n[]\n", OrderKind::kTrace, KeyKind::kText).lines,
            (Lines{"1: 'new york' 'b'", "2:"}));
  EXPECT_EQ(Parse("3 4\n5\n", OrderKind::kTrace, KeyKind::kDense).lines, (Lines{"1: 3 4", "2: 5"}));
  EXPECT_EQ(Parse("[3, -4]\n", OrderKind::kTrace, KeyKind::kInt64).lines, (Lines{"1: 3 -4"}));
}

TEST(OrderFile, FaultsNameLineFoundAndExpected) {
  struct Case {
    const char* bytes;
    OrderKind kind;
    KeyKind keys;
    const char* error;
  };
  constexpr OrderKind kCounts = OrderKind::kCounts;
  constexpr OrderKind kTrace = OrderKind::kTrace;
  const Case cases[] = {
      {"a\t1\nb\n", kCounts, KeyKind::kText,
       "order line 2: found 1 column in 'b', expected two: key TAB count"},
      {"a\t1\t2\n", kCounts, KeyKind::kText,
       "order line 1: found 3 columns in 'a\\x091\\x092', expected two: key TAB count"},
      {"a\t-1\n", kCounts, KeyKind::kText,
       "order line 1: found '-1', expected a whole count from 0"},
      {"a\t1.5\n", kCounts, KeyKind::kText,
       "order line 1: found '1.5', expected a whole count from 0"},
      {"a\t\n", kCounts, KeyKind::kText, "order line 1: found '', expected a whole count from 0"},
      {"a\t18446744073709551616\n", kCounts, KeyKind::kText,
       "order line 1: found '18446744073709551616', expected a whole count from 0"},
      {"1\t1\nx\t1\n", kCounts, KeyKind::kInt64,
       "order line 2: found 'x', expected an integer key"},
      {"1 2\n3 9223372036854775808\n", kTrace, KeyKind::kInt64,
       "order line 2: found '9223372036854775808', expected an integer key"},
      {"[\"a\", 1]\nb\t1\n", kCounts, KeyKind::kText,
       "order line 2: found 'b\\x091', expected [key, count], as on the first line"},
      {"[\"a\", 1]\n[\"b\", -1]\n", kCounts, KeyKind::kText,
       "order line 2: found '-1', expected a whole count from 0"},
      {"[\"a\"]\n[\"b\", 1]\n", kTrace, KeyKind::kText,
       "order line 2: found '1', expected a string key"},
      {"[1]\n[1\n", kTrace, KeyKind::kDense,
       "order line 2: found '[1', expected a JSON array of keys, as on the first line"},
      {"[1]\n[1.5]\n", kTrace, KeyKind::kDense,
       "order line 2: found '1.5', expected an integer key"},
  };
  for (const Case& c : cases) EXPECT_EQ(Parse(c.bytes, c.kind, c.keys).error, c.error);
}

TEST(OrderFile, WhatIsNoFileIsRefused) {
  const test::TempDir dir;
  const auto open = [&](const std::string& path) {
    return OrderFileReader::Open(path, OrderKind::kCounts, KeyKind::kText).status();
  };
  EXPECT_EQ(open(dir.File("none")).code(), StatusCode::kNotFound);
  EXPECT_EQ(open(dir.path()).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(open("/dev/null").code(), StatusCode::kInvalidArgument);
}

TEST(RowOrder, IsParsedAndPrinted) {
  EXPECT_EQ(RowOrder::Parse("file")->kind, OrderKind::kFile);
  EXPECT_EQ(RowOrder::Parse("tiered")->kind, OrderKind::kTiered);
  const auto trace = RowOrder::Parse("trace:a:b");
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->kind, OrderKind::kTrace);
  EXPECT_EQ(trace->file, "a:b");
  for (const char* bad : {"", "random", "counts", "counts:", "trace", "file:x", "tiered:"}) {
    EXPECT_EQ(RowOrder::Parse(bad).status().code(), StatusCode::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace edo::storage
