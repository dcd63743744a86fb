// edo compose and the other verbs on a composed table.
#include "tests/tools/command.h"

namespace edo::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ComposeTest : public ::testing::Test {
 protected:
  // q: row i is (i + 1, 2); r: row i is (i, 0.5).
  void SetUp() override {
    std::vector<float> q, r;
    for (int i = 0; i < 3; ++i) q.insert(q.end(), {static_cast<float>(i + 1), 2.0f});
    for (int i = 0; i < 4; ++i) r.insert(r.end(), {static_cast<float>(i), 0.5f});
    Import("q", q);
    Import("r", r);
  }
  void Import(const std::string& table, const std::vector<float>& rows) {
    WriteFile(dir_.File(table), {reinterpret_cast<const char*>(rows.data()), rows.size() * 4});
    const Said said = Edo({"import", dir_.File(table), "--store", store(), "--table", table,
                           "--from", "raw", "--dim", "2", "--dtype", "f32"});
    ASSERT_EQ(said.code, 0) << said.err;
  }
  // Composes users of q and r, then replaces q by one of `rows` rows of `dim` zeros.
  Said ComposeAndReplaceQ(size_t rows, size_t dim) const {
    const Said made = Compose(
        {"--op", "product", "--part", "q:quotient:4", "--part", "r:remainder:4", "--rows", "12"});
    EXPECT_EQ(made.code, 0) << made.err;
    return ReplaceQ(rows, dim);
  }
  Said ReplaceQ(size_t rows, size_t dim) const {
    WriteFile(dir_.File("q"), std::string(rows * dim * 4, '\0'));
    return Edo({"import", dir_.File("q"), "--store", store(), "--table", "q", "--from", "raw",
                "--dim", std::to_string(dim), "--dtype", "f32", "--force"});
  }
  std::string store() const { return dir_.File("store"); }
  Said Compose(std::vector<std::string> more) const {
    std::vector<std::string> args{"compose", "--store", store(), "--table", "users"};
    args.insert(args.end(), more.begin(), more.end());
    return Edo(args);
  }
  Said Verb(const char* verb, std::vector<std::string> more = {}) const {
    std::vector<std::string> args{verb, "--store", store(), "--table", "users"};
    args.insert(args.end(), more.begin(), more.end());
    return Edo(args);
  }
  TempDir dir_;
};

TEST_F(ComposeTest, QuotientAndRemainder) {
  const Said made = Compose(
      {"--op", "product", "--part", "q:quotient:4", "--part", "r:remainder:4", "--rows", "12"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("product(q:quotient:4, r:remainder:4)"));
  const Said get = Verb("get", {"0", "5", "11"});
  EXPECT_EQ(get.out, "0\t0\t1\n5\t2\t1\n11\t9\t1\n") << get.err;
  EXPECT_EQ(Verb("get", {"12"}).code, 1);
  EXPECT_THAT(Edo({"ls", "--store", store()}).out,
              HasSubstr("users\tdense\tcomposed\t2\t12\t0\tproduct(q:quotient:4, "
                        "r:remainder:4)\n"));
  EXPECT_THAT(Verb("info").out, HasSubstr("composed of\tproduct("));
  EXPECT_EQ(EdoJson({"info", "--store", store(), "--table", "users"})["tables"][0]["composition"],
            "product(q:quotient:4, r:remainder:4)");
  EXPECT_EQ(Verb("verify").code, 0);
  EXPECT_EQ(Verb("stats").code, 0);
  EXPECT_EQ(Verb("nn", {"5"}).code, 0);
  const std::string npy = dir_.File("out.npy");
  ASSERT_EQ(Edo({"export", npy, "--store", store(), "--table", "users"}).code, 0);
  const std::string edo = dir_.File("out.edo");
  ASSERT_EQ(Edo({"export", edo, "--store", store(), "--table", "users"}).code, 0);
  for (const std::string& file : {npy, edo}) {
    const std::string back = "back" + std::to_string(file.size() % 2);
    const Said import = Edo({"import", file, "--store", dir_.File("other"), "--table", back});
    ASSERT_EQ(import.code, 0) << import.err;
    EXPECT_EQ(Edo({"get", "--store", dir_.File("other"), "--table", back, "0", "5", "11"}).out,
              get.out);
    ASSERT_EQ(Edo({"drop", "--store", dir_.File("other"), back}).code, 0);
  }
  EXPECT_EQ(Verb("analyze", {"--against", npy}).code, 0);
  for (const Said& refused : {Verb("recode", {"--codec", "INT8"}), Verb("advise")}) {
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("is composed"));
  }
  const Said drop = Edo({"drop", "--store", store(), "q"});
  EXPECT_NE(drop.code, 0);
  EXPECT_THAT(drop.err, HasSubstr("'q' is a part of table 'users'"));
  ASSERT_EQ(Edo({"rename", "--store", store(), "q", "qq"}).code, 0);
  EXPECT_EQ(Verb("get", {"0", "5", "11"}).out, get.out);
  ASSERT_EQ(Edo({"drop", "--store", store(), "users"}).code, 0);
  EXPECT_EQ(Edo({"drop", "--store", store(), "qq"}).code, 0);
}

TEST_F(ComposeTest, EveryIdByMurmur3) {
  ASSERT_EQ(Compose({"--op", "sum", "--part", "r:murmur3:8"}).code, 0);
  // thinc: id 123456789, seed 8 gives words 847689176 3235222800 1271533764 557866904, modulo 4
  // rows 0 0 0 0.
  EXPECT_EQ(Verb("get", {"123456789", "--", "-1"}).out, "123456789\t0\t2\n-1\t4\t2\n");
  EXPECT_THAT(Edo({"ls", "--store", store()}).out,
              HasSubstr("users\tint64\tcomposed\t2\tevery id"));
  const std::string all = dir_.File("all.tsv");
  const Said refused = Edo({"export", all, "--store", store(), "--table", "users"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--ids"));
  EXPECT_FALSE(std::filesystem::exists(all));
  WriteFile(dir_.File("ids"), "123456789\n-1\n");
  const Said some =
      Edo({"export", all, "--store", store(), "--table", "users", "--ids", dir_.File("ids")});
  ASSERT_EQ(some.code, 0) << some.err;
  EXPECT_EQ(ReadFile(all), "123456789\t0\t2\n-1\t4\t2\n");
  EXPECT_EQ(Edo({"stats", "--store", store()}).code, 0);
  for (const Said& refused : {Verb("nn", {"5"}), Verb("analyze", {"--against", all}),
                              Verb("eval", {"--similarity", all})}) {
    EXPECT_EQ(refused.code, 2) << refused.err;
  }
  EXPECT_THAT(Verb("nn", {"5"}).err, HasSubstr("holds every 64-bit id"));
}

// What there is no number for is null, and the object says that the table is composed.
TEST_F(ComposeTest, JsonClaimsNeitherACodecNorRowsThatAreNotThere) {
  ASSERT_EQ(Compose({"--op", "sum", "--part", "r:murmur3:8:0:4"}).code, 0);
  ASSERT_EQ(Edo({"compose", "--store", store(), "--table", "some", "--op", "sum", "--rows", "9",
                 "--part", "r:remainder:4"})
                .code,
            0);
  for (const char* verb : {"info", "ls", "stats"}) {
    SCOPED_TRACE(verb);
    const auto tables = EdoJson({verb, "--store", store()})["tables"];
    ASSERT_EQ(tables.size(), 4u);  // q, r, some, users
    EXPECT_EQ(tables[0]["codec"], "F32");
    EXPECT_EQ(tables[0]["rows"], 3);
    EXPECT_EQ(tables[0]["composed"], false);
    EXPECT_EQ(tables[0]["composition"], "");
    EXPECT_EQ(tables[0]["every_id"], false);
    for (int t : {2, 3}) {
      EXPECT_TRUE(tables[t]["codec"].is_null());
      EXPECT_EQ(tables[t]["composed"], true);
      EXPECT_EQ(tables[t]["every_id"], t == 3);
    }
    EXPECT_EQ(tables[2]["composition"], "sum(r:remainder:4)");
    EXPECT_EQ(tables[2]["key_kind"], "dense");
    EXPECT_EQ(tables[2]["rows"], 9);
    EXPECT_EQ(tables[2]["f32_bytes"], 72);
    EXPECT_EQ(tables[3]["composition"], "sum(r:murmur3:8:0:4)");
    EXPECT_EQ(tables[3]["key_kind"], "int64");
    EXPECT_TRUE(tables[3]["rows"].is_null());
    EXPECT_TRUE(tables[3]["f32_bytes"].is_null());
  }
  const auto stats = EdoJson({"stats", "--store", store(), "--table", "users"})["tables"][0];
  for (const char* name : {"zero_rows", "non_finite_rows", "norm_min", "value_max"}) {
    EXPECT_TRUE(stats[name].is_null()) << name;
  }
  const Said text = Verb("stats");
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, HasSubstr("rows\tevery 64-bit id"));
  EXPECT_THAT(text.out, Not(HasSubstr("\t0\nrows of zeros")));
  EXPECT_THAT(text.out, Not(HasSubstr("rows of zeros")));
  EXPECT_THAT(text.out, Not(HasSubstr("bytes as F32")));
}

// What cannot be read keeps nothing else from being shown, and is shown as far as it is known.
TEST_F(ComposeTest, APartThatNoLongerFitsIsNamedAndOtherTablesAreShown) {
  ASSERT_EQ(ComposeAndReplaceQ(2, 2).code, 0);
  const std::string reason = "part 'q:quotient:4': table 'q' has 2 rows; 3 are needed";
  const std::string parts = "product(q:quotient:4, r:remainder:4)";

  const Said stats = Edo({"stats", "--store", store()});
  EXPECT_EQ(stats.code, 1);
  EXPECT_THAT(stats.out, HasSubstr("table\tq\nrows\t2\n"));
  EXPECT_THAT(stats.out, HasSubstr("table\tr\nrows\t4\n"));
  EXPECT_THAT(stats.out, HasSubstr("table\tusers\ncannot be read\t" + reason + "\n"));
  EXPECT_THAT(stats.out, HasSubstr("chunks read\t"));
  EXPECT_THAT(stats.err, HasSubstr("table 'users' cannot be read now: " + reason));
  const auto stats_json = EdoJson({"stats", "--store", store()}, 1);
  ASSERT_EQ(stats_json["tables"].size(), 3u);
  EXPECT_EQ(stats_json["tables"][0]["rows"], 2);
  EXPECT_FALSE(stats_json["tables"][0].contains("error"));
  EXPECT_EQ(stats_json["tables"][2]["name"], "users");
  EXPECT_EQ(stats_json["tables"][2]["error"]["code"], "corruption");
  EXPECT_EQ(stats_json["tables"][2]["error"]["message"], reason);
  EXPECT_TRUE(stats_json["tables"][2]["zero_rows"].is_null());
  EXPECT_TRUE(stats_json["tables"][2]["norm_min"].is_null());
  EXPECT_TRUE(stats_json["reads"].is_object());
  EXPECT_EQ(EdoJson({"stats", "--store", store(), "--table", "users"}, 1)["tables"].size(), 1u);
  EXPECT_EQ(Edo({"stats", "--store", store(), "--table", "q"}).code, 0);

  for (const Said& info : {Verb("info"), Edo({"info", "--store", store()})}) {
    EXPECT_EQ(info.code, 1);
    EXPECT_THAT(info.out, HasSubstr("table\tusers\nkeys\tdense\nrows\t12\ndim\t2\n"));
    EXPECT_THAT(info.out, HasSubstr("composed of\t" + parts + "\n"));
    EXPECT_THAT(info.out, HasSubstr("cannot be read\t" + reason + "\n"));
    EXPECT_THAT(info.err, HasSubstr("'users' cannot be read now: " + reason));
  }
  EXPECT_EQ(Edo({"info", "--store", store(), "--table", "q"}).code, 0);
  const auto info = EdoJson({"info", "--store", store(), "--table", "users"}, 1)["tables"][0];
  EXPECT_EQ(info["composition"], parts);
  EXPECT_EQ(info["error"]["code"], "corruption");
  EXPECT_EQ(info["error"]["message"], reason);

  const Said ls = Edo({"ls", "--store", store()});
  EXPECT_EQ(ls.code, 0);
  EXPECT_THAT(ls.out,
              HasSubstr("users\tdense\tcomposed\t2\t12\t0\t" + parts + "\t" + reason + "\n"));
  const auto listed = EdoJson({"ls", "--store", store()})["tables"];
  EXPECT_EQ(listed[2]["error"]["message"], reason);
  EXPECT_FALSE(listed[0].contains("error"));

  // One that fits again is as before.
  ASSERT_EQ(ReplaceQ(3, 2).code, 0);
  EXPECT_EQ(Edo({"stats", "--store", store()}).code, 0);
  EXPECT_EQ(Verb("info").code, 0);
}

TEST_F(ComposeTest, ReplacingAPartByOneThatDoesNotFitWarnsOfTheComposedTable) {
  const Said replaced = ComposeAndReplaceQ(2, 2);
  EXPECT_EQ(replaced.code, 0);
  EXPECT_THAT(replaced.err,
              HasSubstr("edo: warning: composed table 'users' cannot be read now: part "
                        "'q:quotient:4': table 'q' has 2 rows; 3 are needed; import"));
  EXPECT_THAT(ReplaceQ(3, 5).err, HasSubstr("composed table 'users' cannot be read"));
  EXPECT_THAT(ReplaceQ(7, 2).err, Not(HasSubstr("users")));
}

TEST_F(ComposeTest, VerifyDoesNotCallAPartThatNoLongerFitsDamage) {
  ASSERT_EQ(ComposeAndReplaceQ(2, 2).code, 0);
  const std::string reason = "part 'q:quotient:4': table 'q' has 2 rows; 3 are needed";
  for (const Said& verify : {Verb("verify"), Edo({"verify", "--store", store()})}) {
    EXPECT_EQ(verify.code, 1);
    EXPECT_EQ(verify.out, "users\tcomposition\t0\t-\t-\t" + reason + "\n");
    EXPECT_THAT(verify.err, HasSubstr("1 composed table cannot be read"));
    EXPECT_THAT(verify.err, HasSubstr("no byte is damaged"));
    EXPECT_THAT(verify.err, Not(HasSubstr("damage in")));
  }
  const auto json = EdoJson({"verify", "--store", store()}, 1);
  EXPECT_EQ(json["whole"], false);
  EXPECT_TRUE(json["damages"].empty());
  ASSERT_EQ(json["unfit"].size(), 1u);
  EXPECT_EQ(json["unfit"][0]["table"], "users");
  EXPECT_EQ(json["unfit"][0]["what"], reason);
  ASSERT_EQ(ReplaceQ(3, 2).code, 0);
  EXPECT_TRUE(EdoJson({"verify", "--store", store()})["unfit"].empty());
}

TEST_F(ComposeTest, ATableThatIsThereIsReplacedByEitherOption) {
  const std::vector<std::string> args{"--op", "sum", "--part", "q:remainder:3", "--rows", "9"};
  ASSERT_EQ(Compose(args).code, 0);
  const Said again = Compose(args);
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("table 'users' exists in"));
  EXPECT_THAT(again.err, HasSubstr("--replace"));
  for (const char* option : {"--replace", "--force", "-f"}) {
    std::vector<std::string> more = args;
    more.push_back(option);
    EXPECT_EQ(Compose(more).code, 0) << option;
  }
}

TEST_F(ComposeTest, HelpNamesNoDefaultOfWhatIsNeeded) {
  const std::string help = Edo({"compose", "--help"}).out;
  EXPECT_THAT(help, HasSubstr("--op sum|product|concat"));
  EXPECT_THAT(help, Not(HasSubstr("[sum]")));
}

TEST_F(ComposeTest, WrongLinesSayWhatIsExpected) {
  const Said hash = Compose({"--op", "sum", "--part", "q:modulo:4"});
  EXPECT_EQ(hash.code, 2);
  EXPECT_THAT(hash.err, HasSubstr("TABLE:remainder:DIVISOR"));
  EXPECT_EQ(Compose({"--op", "max", "--part", "q:remainder:3"}).code, 2);
  const struct {
    const char* part;
    const char* says;
  } kParts[] = {
      {":remainder:1",
       "no table is named before ':remainder:'; expected TABLE:remainder:DIVISOR, "
       "as users:remainder:1000"},
      {"q:remainder",
       "nothing follows the hash 'remainder'; expected TABLE:remainder:DIVISOR, as "
       "users:remainder:1000"},
      {"q:remainder:",
       "found '' where a whole number from 0 belongs; expected "
       "TABLE:remainder:DIVISOR, as users:remainder:1000"},
      {"q", "found no hash; expected TABLE:HASH:PARAMETER, as users:remainder:1000; hashes are"},
      {"q:mod:4", "found no hash; expected TABLE:HASH:PARAMETER"},
      {":remainder", "no table is named before ':remainder'"},
  };
  for (const auto& c : kParts) {
    const Said said = Compose({"--op", "sum", "--part", c.part, "--rows", "3"});
    EXPECT_EQ(said.code, 2);
    EXPECT_THAT(said.err, HasSubstr("part '" + std::string(c.part) + "': " + c.says));
  }
  EXPECT_EQ(Compose({"--op", "sum"}).code, 2);
  const Said rows = Compose({"--op", "sum", "--part", "q:quotient:4", "--rows", "13"});
  EXPECT_EQ(rows.code, 2);
  EXPECT_THAT(rows.err, HasSubstr("has 3 rows; 4 are needed"));
  EXPECT_EQ(Compose({"--op", "sum", "--part", "z:remainder:4"}).code, 1);
  EXPECT_EQ(EdoJson({"ls", "--store", store()})["tables"].size(), 2u);
}

}  // namespace
}  // namespace edo::test
