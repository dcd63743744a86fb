// Things that once went wrong, or easily could: an option that overwrites the input, rows that
// change their key, an interrupt that nobody hears, two processes that make the same store.
#include <sys/stat.h>

#include <cstring>

#include "tests/tools/command.h"

namespace edo::test {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class GuardTest : public ::testing::Test {
 protected:
  std::string store() const { return dir_.File("store"); }
  std::string Make(const std::string& name, const std::string& bytes) const {
    WriteFile(dir_.File(name), bytes);
    return dir_.File(name);
  }
  TempDir dir_;
};

TEST_F(GuardTest, BadRowsFileIsNeverTheInput) {
  const std::string text = "2 2\na 1 2\nb x 2\n";
  const std::string input = Make("a.vec", text);
  const Said said = Edo({"import", input, "--store", store(), "--table", "t", "--force",
                         "--on-bad-row", "skip", "--bad-rows", input});
  EXPECT_EQ(said.code, 2) << said.err;
  EXPECT_EQ(ReadFile(input), text);
}

TEST_F(GuardTest, AFailedImportKeepsTheOldBadRowsFile) {
  const std::string notes = Make("notes.tsv", "older\n");
  const std::string input = Make("a.vec", "2 2\na 1 2\nb 1 2 3\n");
  const Said said = Edo({"import", input, "--store", store(), "--force", "--bad-rows", notes});
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(ReadFile(notes), "older\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_.path()), fs::directory_iterator()), 2);
}

TEST_F(GuardTest, RowsAreNotSkippedWhereRowNumbersAreKeys) {
  std::string raw(16, '\0');
  const float values[4] = {1.0f, __builtin_nanf(""), 3.0f, 4.0f};
  std::memcpy(raw.data(), values, 16);
  const std::string input = Make("rows.f32", raw);
  const Said said = Edo({"import", input, "--store", store(), "--from", "raw", "--dim", "2",
                         "--dtype", "f32", "--on-bad-row", "skip"});
  EXPECT_EQ(said.code, 2);
  EXPECT_THAT(said.err, HasSubstr("row numbers are the keys"));
  EXPECT_FALSE(fs::exists(store()));
}

TEST_F(GuardTest, ATableOfSkippedRowsOnlyIsAnError) {
  const std::string input = Make("a.vec", "2 2\na x 2\nb y 2\n");
  const Said said = Edo({"import", input, "--store", store(), "--on-bad-row", "skip"});
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.err, HasSubstr("all 2 rows"));
  EXPECT_FALSE(fs::exists(store()));
}

TEST_F(GuardTest, DuplicatesNameFileAndBothLines) {
  const std::string input = Make("a.txt", "cat 1 2\ndog 3 4\ncat 5 6\n");
  const Said said = Edo({"import", input, "--store", store()});
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.err, HasSubstr(input + " line 3: key 'cat' is there already, at line 1"));
}

TEST_F(GuardTest, NothingIsExportedIntoTheStore) {
  const std::string input = Make("a.vec", "1 2\na 1 2\n");
  ASSERT_EQ(Edo({"import", input, "--store", store()}).code, 0);
  const Said said = Edo({"export", "--store", store(), store() + "/EDO", "--to", "tsv", "--force"});
  EXPECT_EQ(said.code, 2) << said.err;
  EXPECT_EQ(Edo({"get", "--store", store(), "a"}).out, "a\t1\t2\n");
}

TEST_F(GuardTest, InterruptIsHeardWhileAPipeIsSilent) {
  Process process({"import", "-", "--store", store(), "--table", "t"}, {});
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  kill(process.pid(), SIGINT);
  const Said said = process.Wait();
  EXPECT_EQ(said.code, 130) << said.err;
  EXPECT_FALSE(fs::exists(store()));
}

TEST_F(GuardTest, InterruptIsHeardWhileAFifoHasNoWriter) {
  const std::string fifo = dir_.File("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  Process process({"import", fifo, "--store", store(), "--table", "t"}, {});
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  kill(process.pid(), SIGINT);
  EXPECT_EQ(process.Wait().code, 130);
}

TEST_F(GuardTest, AnExportWhoseReaderIsGoneIsSilent) {
  const std::string input = Make("a.vec", "1 2\na 1 2\n");
  ASSERT_EQ(Edo({"import", input, "--store", store()}).code, 0);
  const Said said =
      Edo({"export", "--store", store(), "-", "--to", "tsv", "-q"}, {.close_reader = true});
  EXPECT_EQ(said.code, 141);
  EXPECT_EQ(said.err, "");
}

// Several imports into a store that does not exist yet: each that says it worked is there.
TEST_F(GuardTest, ImportsThatRaceToMakeAStoreLoseNothing) {
  const std::string good = Make("good.vec", "1 2\na 1 2\n");
  const std::string bad = Make("bad.vec", "1 2\na x 2\n");
  for (int round = 0; round < 12; ++round) {
    const std::string s = dir_.File("s" + std::to_string(round));
    std::vector<std::unique_ptr<Process>> processes;
    for (int i = 0; i < 3; ++i) {
      processes.push_back(std::make_unique<Process>(
          std::vector<std::string>{"import", i == round % 3 ? bad : good, "--store", s, "--table",
                                   "t" + std::to_string(i), "-q"},
          RunOptions{}));
    }
    std::vector<std::string> expected;
    for (int i = 0; i < 3; ++i) {
      if (processes[static_cast<size_t>(i)]->Wait().code == 0) {
        expected.push_back("t" + std::to_string(i));
      }
    }
    std::vector<std::string> names;
    const Said ls = Edo({"ls", "--store", s, "--json"});
    if (ls.code == 0) {
      const auto parsed = nlohmann::json::parse(ls.out);
      for (const auto& table : parsed["tables"]) {
        names.push_back(table["name"].get<std::string>());
      }
    }
    EXPECT_EQ(names, expected) << ls.out;
  }
}

}  // namespace
}  // namespace edo::test
