// The verbs on small tables: what they print, as text and as JSON, what a failed call leaves
// behind, and keys that are awkward on a command line. Values are exact in binary32, so that
// printed text can be compared.
#include <sys/stat.h>

#include "tests/tools/command.h"

namespace edo::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class TableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteFile(Path("small.vec"), "3 2\nriver 1 0\nstone 0.5 -0.25\nsea 3 1\n");
  }
  std::string Path(const std::string& name) const { return dir_.File(name); }
  std::string store() const { return Path("store"); }
  Said Import(const std::string& file, std::vector<std::string> more = {}) const {
    std::vector<std::string> args{"import", Path(file), "--store", store()};
    args.insert(args.end(), more.begin(), more.end());
    return Edo(args);
  }
  Said Get(std::vector<std::string> keys, std::vector<std::string> options = {}) const {
    std::vector<std::string> args{"get", "--store", store()};
    args.insert(args.end(), options.begin(), options.end());
    args.insert(args.end(), keys.begin(), keys.end());
    return Edo(args);
  }
  TempDir dir_;
};

TEST_F(TableTest, ImportTellsWhatItDidAndGetPrintsRows) {
  const Said import = Import("small.vec");
  ASSERT_EQ(import.code, 0) << import.err;
  EXPECT_EQ(import.out, "");
  for (const char* word : {"word2vec", "dim 2", "'small'", "3 rows", "F32", "rows/s"}) {
    EXPECT_THAT(import.err, HasSubstr(word));
  }
  const Said get = Get({"stone", "river", "stone"});
  EXPECT_EQ(get.code, 0) << get.err;
  EXPECT_EQ(get.out, "stone\t0.5\t-0.25\nriver\t1\t0\nstone\t0.5\t-0.25\n");
  EXPECT_EQ(get.err, "");
}

TEST_F(TableTest, CompressionIsChosenAndTold) {
  std::string rows = "3000 8\n";
  for (int r = 0; r < 3000; ++r) {
    rows += "k" + std::to_string(r);
    for (int c = 0; c < 8; ++c) rows += " " + std::to_string(c + (r / 100) * 0.25);
    rows += "\n";
  }
  WriteFile(Path("smooth.vec"), rows);
  const Said packed = Import("smooth.vec", {"--compress", "zstd"});
  ASSERT_EQ(packed.code, 0) << packed.err;
  EXPECT_THAT(packed.err, HasSubstr("rows are compressed (zstd)"));
  const Said plain = Import("smooth.vec", {"--compress", "none", "--table", "plain"});
  ASSERT_EQ(plain.code, 0) << plain.err;
  EXPECT_THAT(plain.err, Not(HasSubstr("compressed")));
  // A table as small as this one is not worth a choice.
  ASSERT_EQ(Import("smooth.vec", {"--table", "auto"}).code, 0);
  const auto json = EdoJson({"info", "--store", store()});
  std::map<std::string, nlohmann::json> tables;
  for (const auto& table : json["tables"]) tables[table["name"]] = table;
  EXPECT_EQ(tables["smooth"]["compression"], "zstd");
  EXPECT_EQ(tables["plain"]["compression"], "none");
  EXPECT_EQ(tables["auto"]["compression"], "none");
  EXPECT_EQ(tables["plain"]["plain_chunk_bytes"], tables["plain"]["chunk_file_bytes"]);
  EXPECT_LT(tables["smooth"]["chunk_file_bytes"], tables["smooth"]["plain_chunk_bytes"]);
  const Said info = Edo({"info", "--store", store(), "--table", "smooth"});
  EXPECT_THAT(info.out, HasSubstr("compression\tzstd; without it "));
  const Said stats = Edo({"stats", "--store", store(), "--table", "smooth"});
  EXPECT_THAT(stats.out, HasSubstr("bytes on disk uncompressed\t"));
  const auto stats_json = EdoJson({"stats", "--store", store(), "--table", "plain"});
  EXPECT_EQ(stats_json["tables"][0]["compression"], "none");
  EXPECT_EQ(Edo({"get", "--store", store(), "--table", "smooth", "k0", "k2999"}).out,
            Edo({"get", "--store", store(), "--table", "plain", "k0", "k2999"}).out);
  const Said bad = Import("smooth.vec", {"--compress", "lz4"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err, HasSubstr("'lz4' is not one of auto, none, zstd"));
  ASSERT_EQ(Edo({"verify", "--store", store()}).code, 0);
}

TEST_F(TableTest, QuietSaysNothing) {
  const Said said = Import("small.vec", {"--quiet"});
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(said.err + said.out, "");
}

TEST_F(TableTest, MissingKeysAreNamedAndTheRestIsPrinted) {
  ASSERT_EQ(Import("small.vec").code, 0);
  const Said said = Get({"lake", "sea", "pond"});
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(said.out, "sea\t3\t1\n");
  EXPECT_THAT(said.err, HasSubstr("'lake'"));
  EXPECT_THAT(said.err, HasSubstr("'pond'"));
  EXPECT_THAT(said.err, Not(HasSubstr("'sea'")));
}

TEST_F(TableTest, KeysFromFileAndStandardInput) {
  ASSERT_EQ(Import("small.vec").code, 0);
  WriteFile(Path("keys"), "sea\nriver");
  EXPECT_EQ(Get({"stone"}, {"--keys-from", Path("keys")}).out,
            "stone\t0.5\t-0.25\nsea\t3\t1\nriver\t1\t0\n");
  EXPECT_EQ(Edo({"get", "--store", store(), "--keys-from", "-"}, {.input = "river\n"}).out,
            "river\t1\t0\n");
  EXPECT_EQ(Get({}, {"--keys-from", Path("none")}).code, 1);
  EXPECT_EQ(Get({}, {"--keys-from", "/dev/null"}).code, 0);
}

TEST_F(TableTest, ALineThatIsNoKeyIsNamedAndTheLinesBeforeItArePrinted) {
  WriteFile(Path("rows"), std::string(3 * 8, '\0'));  // three rows of two zeros
  ASSERT_EQ(Edo({"import", Path("rows"), "--store", store(), "--from", "raw", "--dim", "2",
                 "--dtype", "f32"})
                .code,
            0);
  WriteFile(Path("keys"), "1\n2\n1 x\n0\n");
  const Said said = Get({}, {"--keys-from", Path("keys")});
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(said.out, "1\t0\t0\n2\t0\t0\n");
  EXPECT_THAT(said.err, HasSubstr(Path("keys") + " line 3: found key '1 x', expected a 64-bit"));
  EXPECT_EQ(Get({"1 x"}).code, 2) << "a key of the command line is a matter of usage";
}

TEST_F(TableTest, EveryVerbPrintsJson) {
  const auto import = EdoJson({"import", Path("small.vec"), "--store", store(), "--codec", "INT8",
                               "--meta", "source=test", "--meta", "note=a=b"});
  EXPECT_EQ(import["table"]["name"], "small");
  EXPECT_EQ(import["table"]["rows"], 3);
  EXPECT_EQ(import["rows_read"], 3);

  const auto ls = EdoJson({"ls", "--store", store()});
  ASSERT_EQ(ls["tables"].size(), 1u);
  EXPECT_EQ(ls["tables"][0]["codec"], "INT8");
  EXPECT_EQ(ls["tables"][0]["metadata"]["note"], "a=b");

  const auto info = EdoJson({"info", "--store", store(), "--table", "small"});
  EXPECT_EQ(info["tables"][0]["row_bytes"], 4);
  EXPECT_EQ(EdoJson({"info", Path("small.vec")})["file"]["format"], "word2vec");
  const auto backends = EdoJson({"info", "--backends"});
  EXPECT_EQ(backends["backends"][0], "cpu");
  EXPECT_EQ(backends["backend_details"][0]["available"], true);
  EXPECT_EQ(backends["backend_details"][1]["name"], "cuda");
  EXPECT_FALSE(std::string(backends["backend_details"][1]["description"]).empty());
  EXPECT_NE(Edo({"info", "--backends"}).out.find("\nbackend\tcpu: "), std::string::npos);

  const auto get = EdoJson({"get", "--store", store(), "sea", "lake"}, 1);
  EXPECT_EQ(get["rows"][0]["key"], "sea");
  EXPECT_EQ(get["rows"][0]["values"].size(), 2u);
  EXPECT_EQ(get["missing"][0]["key"], "lake");

  const auto nn = EdoJson({"nn", "--store", store(), "sea", "-k", "1"});
  EXPECT_EQ(nn["neighbours"][0]["key"], "river");

  const auto stats = EdoJson({"stats", "--store", store()});
  EXPECT_EQ(stats["tables"][0]["rows"], 3);
  EXPECT_EQ(stats["tables"][0]["zero_rows"], 0);
  EXPECT_EQ(stats["reads"]["chunks_read"], 1);
  EXPECT_TRUE(stats["reads"].contains("chunks_by_address"));
  EXPECT_TRUE(stats["reads"].contains("mean_queue_depth"));

  const auto verify = EdoJson({"verify", "--store", store()});
  EXPECT_EQ(verify["whole"], true);
  EXPECT_EQ(verify["damages"].size(), 0u);

  const auto exported = EdoJson({"export", Path("out.npy"), "--store", store()});
  EXPECT_EQ(exported["rows"], 3);
  EXPECT_EQ(EdoJson({"rename", "--store", store(), "small", "big"})["to"], "big");
  EXPECT_EQ(EdoJson({"drop", "--store", store(), "big"})["table"], "big");
  EXPECT_EQ(EdoJson({"completions", "fish"})["shell"], "fish");
}

TEST_F(TableTest, JsonStaysValidForBytesAndNonFiniteValues) {
  WriteFile(Path("odd.vec"), "3 2\n\xff\xfe 1 inf\nq\"\\ -inf nan\nplain 0.1 -0\n");
  ASSERT_EQ(Import("odd.vec", {"--invalid-utf8", "keep", "--non-finite", "keep"}).code, 0);
  const Said said =
      Edo({"get", "--json", "--store", store(), "--", "\xff\xfe", "q\"\\", "plain", "\xff?"});
  EXPECT_EQ(said.code, 1);
  const auto json = nlohmann::json::parse(said.out);
  EXPECT_EQ(json["rows"][0]["key_base64"], "//4=");
  EXPECT_EQ(json["rows"][0]["values"][1], "inf");
  EXPECT_EQ(json["rows"][1]["key"], "q\"\\");
  EXPECT_EQ(json["rows"][1]["values"], (nlohmann::json{"-inf", "nan"}));
  EXPECT_THAT(said.out, HasSubstr("[0.1,-0]"));
  EXPECT_EQ(json["missing"][0]["key_base64"], "/z8=");
}

TEST_F(TableTest, AwkwardTextKeysWork) {
  WriteFile(Path("keys.jsonl"), R"({"key":"a\tb","values":[1,2]})"
                                "\n"
                                R"({"key":"c\nd\\","values":[3,4]})"
                                "\n"
                                R"({"key":"","values":[5,6]})"
                                "\n"
                                R"({"key":"--","values":[7,8]})"
                                "\n"
                                R"({"key":"-x","values":[9,10]})"
                                "\n"
                                R"({"key":"info","values":[11,12]})"
                                "\n"
                                R"({"key":"[a,b]","values":[13,14]})"
                                "\n"
                                R"({"key":"{}","values":[15,16]})"
                                "\n"
                                R"({"key":"-5","values":[17,18]})"
                                "\n");
  const Said import = Import("keys.jsonl", {"--key-type", "text"});
  ASSERT_EQ(import.code, 0) << import.err;
  EXPECT_EQ(Get({"a\tb", "c\nd\\", "", "info", "[a,b]", "{}", "-5"}).out,
            "a\\tb\t1\t2\nc\\nd\\\\\t3\t4\n\t5\t6\ninfo\t11\t12\n[a,b]\t13\t14\n{}\t15\t16\n"
            "-5\t17\t18\n");
  EXPECT_EQ(Get({"--", "--", "-x", "-5"}).out, "--\t7\t8\n-x\t9\t10\n-5\t17\t18\n");
}

TEST_F(TableTest, IntegerKeysAreParsedStrictly) {
  WriteFile(Path("ids.tsv"), "-5\t1\t2\n9223372036854775807\t3\t4\n");
  ASSERT_EQ(Import("ids.tsv", {"--key-type", "int64", "--header", "no"}).code, 0);
  EXPECT_EQ(Get({"-5", "9223372036854775807"}).out, "-5\t1\t2\n9223372036854775807\t3\t4\n");
  EXPECT_EQ(Get({"--", "-5"}).out, "-5\t1\t2\n");
  EXPECT_EQ(Get({"6"}).code, 1);
  for (const char* key : {"", "x", "1x", " 1", "+1", "1.0", "9223372036854775808"}) {
    const Said said = Get({"--", key});
    EXPECT_EQ(said.code, 2) << key;
    EXPECT_THAT(said.err, HasSubstr("'" + std::string(key) + "'"));
  }
  const auto json = EdoJson({"get", "--store", store(), "9223372036854775807"});
  EXPECT_EQ(json["rows"][0]["key"], 9223372036854775807);
}

TEST_F(TableTest, NearestRowsAreOrderedAndTiesGoByRow) {
  WriteFile(Path("n.vec"), "6 2\nq 1 0\nfar -1 0\ntie2 2 0\ntie1 4 0\nzero 0 0\nup 1 1\n");
  ASSERT_EQ(Import("n.vec").code, 0);
  const auto nn = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"nn", "--store", store(), "q"});
    return Edo(more).out;
  };
  EXPECT_EQ(nn({}), "tie2\t1\ntie1\t1\nup\t0.70710677\nzero\t0\nfar\t-1\n");
  EXPECT_EQ(nn({"-k", "1"}), "tie2\t1\n");
  EXPECT_EQ(nn({"-k", "2", "--metric", "dot"}), "tie1\t4\ntie2\t2\n");
  EXPECT_EQ(nn({"-k", "3", "--metric", "l2"}), "tie2\t1\nzero\t1\nup\t1\n");
  const Said missing = Edo({"nn", "--store", store(), "nope"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, HasSubstr("'nope'"));
}

TEST_F(TableTest, AnExistingTableIsReplacedOnlyByForceAndOnlyByAWholeOne) {
  ASSERT_EQ(Import("small.vec", {"--table", "t"}).code, 0);
  WriteFile(Path("two.vec"), "1 2\nriver 7 7\n");
  WriteFile(Path("bad.vec"), "2 2\nriver 8 8\nstone 9\n");
  const Said exists = Import("two.vec", {"--table", "t"});
  EXPECT_EQ(exists.code, 1);
  EXPECT_THAT(exists.err, HasSubstr("table 't' exists"));
  EXPECT_THAT(exists.err, HasSubstr("--force"));
  EXPECT_EQ(Get({"river"}).out, "river\t1\t0\n");
  const Said bad = Import("bad.vec", {"--table", "t", "--force"});
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.err, HasSubstr("line 3"));
  EXPECT_EQ(Get({"river"}).out, "river\t1\t0\n");
  EXPECT_EQ(Import("two.vec", {"--table", "t", "--force"}).code, 0);
  EXPECT_EQ(Get({"river"}).out, "river\t7\t7\n");
  EXPECT_EQ(Get({"stone"}).code, 1);
}

TEST_F(TableTest, AFailedFirstImportLeavesNoStore) {
  WriteFile(Path("bad.vec"), "2 2\nriver 8 8\nstone 9\n");
  EXPECT_EQ(Import("bad.vec").code, 1);
  EXPECT_FALSE(fs::exists(store()));
  fs::create_directory(store());
  EXPECT_EQ(Import("bad.vec").code, 1);
  EXPECT_TRUE(fs::is_empty(store()));
}

TEST_F(TableTest, BadRowsAreListed) {
  WriteFile(Path("bad.vec"), "4 2\nriver 8 8\nstone 9\nsea x 1\nlake 1 2\n");
  const Said said = Import("bad.vec", {"--on-bad-row", "skip", "--bad-rows", Path("list")});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_THAT(said.err, HasSubstr("2 rows skipped"));
  const std::string list = ReadFile(Path("list"));
  EXPECT_THAT(list, HasSubstr("line\t3\tskipped_row\t"));
  EXPECT_THAT(list, HasSubstr("line\t4\tskipped_row\t"));
  const Said again = Import("bad.vec", {"--table", "b", "--bad-rows", Path("list")});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("exists"));
}

TEST_F(TableTest, ImportFromStandardInputAndFifo) {
  const std::string text = ReadFile(Path("small.vec"));
  EXPECT_EQ(Edo({"import", "-", "--store", store(), "--table", "a"}, {.input = text}).code, 0);
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  std::thread writer([&] { WriteFile(Path("fifo"), text); });
  EXPECT_EQ(Import("fifo", {"--table", "b"}).code, 0);
  writer.join();
  EXPECT_EQ(Get({"sea"}, {"--table", "a"}).out, "sea\t3\t1\n");
  EXPECT_EQ(Get({"sea"}, {"--table", "b"}).out, "sea\t3\t1\n");
}

TEST_F(TableTest, ExportRefusesToOverwriteAndIsWholeBeforeAndAfter) {
  ASSERT_EQ(Import("small.vec", {"--table", "t"}).code, 0);
  const std::string before = ReadFile(Path("small.vec"));
  const auto exported = [&](const std::string& path, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"export", path, "--store", store(), "--to", "word2vec"});
    return Edo(more);
  };
  const Said refused = exported(Path("small.vec"));
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("--force"));
  EXPECT_EQ(ReadFile(Path("small.vec")), before);
  EXPECT_EQ(exported(Path("small.vec"), {"--force"}).code, 0);
  EXPECT_EQ(ReadFile(Path("small.vec")), before);
  EXPECT_EQ(exported("-").out, before);
  fs::create_directory(Path("folder"));
  EXPECT_EQ(exported(Path("folder"), {"--force"}).code, 1);
  EXPECT_EQ(exported("/dev/full", {"--force"}).code, 1);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  WriteFile(Path("ids"), "sea\nriver\n");
  EXPECT_EQ(exported("-", {"--ids", Path("ids")}).out, "2 2\nsea 3 1\nriver 1 0\n");
}

TEST_F(TableTest, DropAndRenameNameWhatExists) {
  ASSERT_EQ(Import("small.vec", {"--table", "a"}).code, 0);
  ASSERT_EQ(Import("small.vec", {"--table", "b"}).code, 0);
  const Said unknown = Edo({"drop", "--store", store(), "c"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("'a', 'b'"));
  const Said ambiguous = Get({"sea"});
  EXPECT_NE(ambiguous.code, 0);
  EXPECT_THAT(ambiguous.err, HasSubstr("'a', 'b'"));
  EXPECT_EQ(Edo({"rename", "--store", store(), "a", "b"}).code, 1);
  EXPECT_EQ(Edo({"rename", "--store", store(), "a", "c"}).code, 0);
  EXPECT_EQ(Edo({"drop", "--store", store(), "--table", "b"}).code, 0);
  EXPECT_THAT(Edo({"ls", "--store", store()}).out, HasSubstr("c\ttext\tF32\t2\t3\t"));
}

TEST_F(TableTest, InfoAndStatsDescribeTheTable) {
  WriteFile(Path("s.vec"), "4 2\na 3 4\nz 0 0\nb -6 8\nc inf 1\n");
  ASSERT_EQ(Import("s.vec", {"--non-finite", "keep", "--meta", "k=v"}).code, 0);
  const Said info = Edo({"info", "--store", store()});
  for (const char* line : {"table\ts", "rows\t4", "dim\t2", "codec\tF32", "metadata k\tv"}) {
    EXPECT_THAT(info.out, HasSubstr(line));
  }
  const Said stats = Edo({"stats", "--store", store()});
  EXPECT_EQ(stats.code, 0) << stats.err;
  for (const char* line :
       {"rows of zeros\t1", "rows with inf or nan\t1", "norm min\t0", "norm mean\t5",
        "norm max\t10", "value min\t-6", "value max\t8", "read path\t", "chunks read\t1",
        "chunks by address\t", "chunks by MultiGet\t"}) {
    EXPECT_THAT(stats.out, HasSubstr(line));
  }
}

TEST_F(TableTest, NoStoreIsSaidClearly) {
  for (const char* verb : {"ls", "stats", "verify"}) {
    const Said said = Edo({verb, "--store", Path("nothing")});
    EXPECT_EQ(said.code, 1) << verb;
    EXPECT_THAT(said.err, HasSubstr("nothing")) << verb;
    EXPECT_FALSE(fs::exists(Path("nothing")));
  }
}

}  // namespace
}  // namespace edo::test
