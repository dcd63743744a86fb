// The command when things go wrong around it: Ctrl-C, kill -9, a full or closed standard output, a
// second process, a directory without write permission, damaged files. Long imports are fed from an
// endless standard input, so that no timing decides whether they are still running.
#include <sys/stat.h>

#include "tests/tools/command.h"

namespace edo::test {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class RoughTest : public ::testing::Test {
 protected:
  std::string store() const { return dir_.File("store"); }
  void MakeTable(const std::string& name, size_t rows) {
    std::string text = std::to_string(rows) + " 4\n";
    for (size_t i = 0; i < rows; ++i)
      text += "k" + std::to_string(i) + " 1 2 3 " + std::to_string(i) + "\n";
    const Said said = Edo({"import", "-", "--store", store(), "--table", name}, {.input = text});
    ASSERT_EQ(said.code, 0) << said.err;
  }
  TempDir dir_;
};

// An import of table 'long' that never ends by itself.
class EndlessImport {
 public:
  explicit EndlessImport(const std::string& store, std::vector<std::string> more = {},
                         const RunOptions& options = {})
      : process_(Args(store, std::move(more)), options), feeder_([this] { FeedForever(); }) {
    // A pipe holds 64 KiB: once more was taken, the store is open and rows are coming in.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (fed_ < (4 << 20) && !done_ && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  ~EndlessImport() {
    if (feeder_.joinable()) Kill(SIGKILL);
  }
  Said Kill(int signal) {
    kill(process_.pid(), signal);
    Said said = process_.Wait();
    feeder_.join();
    return said;
  }
  size_t fed() const { return fed_; }

 private:
  static std::vector<std::string> Args(const std::string& store, std::vector<std::string> more) {
    more.insert(more.begin(),
                {"import", "-", "--store", store, "--table", "long", "--from", "glove"});
    return more;
  }
  void FeedForever() {
    for (uint64_t i = 0;; ++i) {
      std::string rows;
      for (int j = 0; j < 500; ++j) {
        rows += "w" + std::to_string(i * 500 + static_cast<uint64_t>(j)) + " 1 2 3 4\n";
      }
      if (!process_.Feed(rows)) break;
      fed_ += rows.size();
    }
    done_ = true;
  }
  Process process_;
  std::atomic<size_t> fed_{0};
  std::atomic<bool> done_{false};
  std::thread feeder_;
};

TEST_F(RoughTest, InterruptLeavesNoTableAndExitsWith130) {
  MakeTable("old", 3);
  EndlessImport import(store());
  const Said said = import.Kill(SIGINT);
  EXPECT_EQ(said.code, 130) << said.err;
  EXPECT_THAT(said.err, HasSubstr("interrupted"));
  const auto ls = EdoJson({"ls", "--store", store()});
  ASSERT_EQ(ls["tables"].size(), 1u);
  EXPECT_EQ(ls["tables"][0]["name"], "old");
}

TEST_F(RoughTest, InterruptOfTheFirstImportLeavesNoStore) {
  EndlessImport import(store());
  EXPECT_EQ(import.Kill(SIGINT).code, 130);
  EXPECT_FALSE(fs::exists(store()));
}

TEST_F(RoughTest, ATerminalShowsProgressUnlessQuiet) {
  for (const bool quiet : {false, true}) {
    EndlessImport import(store(),
                         quiet ? std::vector<std::string>{"--quiet"} : std::vector<std::string>{},
                         {.terminal = true});
    std::this_thread::sleep_for(std::chrono::seconds(1));  // the bar is drawn five times a second
    const Said said = import.Kill(SIGINT);
    EXPECT_EQ(said.code, 130);
    EXPECT_EQ(said.err.find("rows  ") != std::string::npos, !quiet) << said.err;
    EXPECT_EQ(said.err.find("MiB/s") != std::string::npos, !quiet) << said.err;
  }
}

TEST_F(RoughTest, ErrorsAreColouredOnlyOnATerminalThatWantsIt) {
  const std::vector<std::string> args{"ls", "--store", store()};
  EXPECT_THAT(Edo(args, {.terminal = true}).err, HasSubstr("\x1b[31medo:"));
  EXPECT_THAT(Edo(args, {.terminal = true, .env = {"NO_COLOR=1"}}).err,
              ::testing::Not(HasSubstr("\x1b[31m")));
  EXPECT_THAT(Edo(args).err, ::testing::StartsWith("edo: "));
}

TEST_F(RoughTest, AKilledImportLeavesNoTableAndTheNextOneWorks) {
  MakeTable("old", 3);
  EndlessImport import(store());
  EXPECT_EQ(import.Kill(SIGKILL).code, 128 + SIGKILL);
  EXPECT_EQ(EdoJson({"ls", "--store", store()})["tables"].size(), 1u);
  MakeTable("new", 3);
  EXPECT_EQ(EdoJson({"ls", "--store", store()})["tables"].size(), 2u);
  EXPECT_EQ(EdoJson({"verify", "--store", store()})["whole"], true);
}

TEST_F(RoughTest, AKilledReplaceKeepsTheOldRows) {
  MakeTable("long", 5);
  EndlessImport import(store(), {"--force"});
  import.Kill(SIGKILL);
  EXPECT_EQ(Edo({"get", "--store", store(), "k4"}).out, "k4\t1\t2\t3\t4\n");
  EXPECT_EQ(Edo({"get", "--store", store(), "w0"}).code, 1);
}

TEST_F(RoughTest, ASecondWriterIsRefusedAndReadersAreNot) {
  MakeTable("old", 3);
  EndlessImport import(store());
  ASSERT_GT(import.fed(), 0u);
  const Said writer =
      Edo({"import", "-", "--store", store(), "--table", "b"}, {.input = "1 1\na 1\n"});
  EXPECT_EQ(writer.code, 1);
  EXPECT_THAT(writer.err, HasSubstr("LOCK"));
  EXPECT_EQ(Edo({"drop", "--store", store(), "old"}).code, 1);
  EXPECT_EQ(Edo({"get", "--store", store(), "k2"}).out, "k2\t1\t2\t3\t2\n");
  import.Kill(SIGKILL);
  MakeTable("b", 2);
}

TEST_F(RoughTest, AFullStandardOutputIsAnError) {
  MakeTable("t", 3);
  for (const auto& args : std::vector<std::vector<std::string>>{
           {"get", "--store", store(), "k1"},
           {"ls", "--store", store(), "--json"},
           {"info", "--store", store()},
           {"--help"},
           {"completions", "bash"},
           {"export", "-", "--store", store(), "--to", "word2vec"}}) {
    const Said said = Edo(args, {.out_path = "/dev/full"});
    EXPECT_EQ(said.code, 1) << args[0];
    EXPECT_THAT(said.err, HasSubstr("No space left")) << args[0];
  }
}

TEST_F(RoughTest, AClosedPipeIsQuiet) {
  MakeTable("t", 3);
  for (const auto& args : std::vector<std::vector<std::string>>{{"get", "--store", store(), "k1"},
                                                                {"nn", "--store", store(), "k1"},
                                                                {"ls", "--store", store()}}) {
    const Said said = Edo(args, {.close_reader = true});
    EXPECT_EQ(said.code, 141) << args[0];
    EXPECT_EQ(said.err, "") << args[0];
  }
  EXPECT_NE(
      Edo({"export", "-", "--store", store(), "--to", "word2vec"}, {.close_reader = true}).code, 0);
}

TEST_F(RoughTest, ClosedStandardStreamsDoNotReachTheStore) {
  MakeTable("t", 3);
  const std::string edo = EDO_COMMAND, at = " --store " + store();
  const auto exit_code = [](const std::string& command) {
    return WEXITSTATUS(std::system((command + " 2>/dev/null").c_str()));
  };
  EXPECT_EQ(exit_code(edo + " get k1" + at + " >&-"), 1);
  EXPECT_EQ(exit_code(edo + " get --keys-from -" + at + " <&-"), 1);
  EXPECT_EQ(exit_code(edo + " drop nothing" + at + " <&- >&-"), 1);
  EXPECT_EQ(WEXITSTATUS(std::system((edo + " drop nothing" + at + " 2>&-").c_str())), 1);
  EXPECT_EQ(EdoJson({"verify", "--store", store()})["whole"], true);
}

TEST_F(RoughTest, ReadingNeedsNoWritePermission) {
  MakeTable("t", 3);
  const auto listing = [&] {
    std::string text;
    for (const auto& entry : fs::recursive_directory_iterator(store())) {
      text += entry.path().string() + " " +
              std::to_string(entry.last_write_time().time_since_epoch().count()) + "\n";
    }
    return text;
  };
  const std::string before = listing();
  chmod(store().c_str(), 0555);
  for (const auto& args : std::vector<std::vector<std::string>>{
           {"get", "k1"}, {"ls"}, {"info"}, {"stats"}, {"verify"}, {"nn", "k1"}}) {
    auto all = args;
    all.insert(all.begin() + 1, {"--store", store()});
    const Said said = Edo(all);
    EXPECT_EQ(said.code, 0) << args[0] << ": " << said.err;
  }
  chmod(store().c_str(), 0755);
  EXPECT_EQ(listing(), before) << "a reading verb changed the directory";
}

TEST_F(RoughTest, DamageIsFoundNamedAndNeverServed) {
  MakeTable("t", 2000);
  // Flip a byte in the middle of the largest file of the store.
  fs::path largest;
  for (const auto& entry : fs::recursive_directory_iterator(store())) {
    if (entry.is_regular_file() && entry.path().extension() == ".sst" &&
        (largest.empty() || entry.file_size() > fs::file_size(largest))) {
      largest = entry.path();
    }
  }
  ASSERT_FALSE(largest.empty());
  std::string bytes = ReadFile(largest.string());
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x10);
  WriteFile(largest.string(), bytes);
  const Said verify = Edo({"verify", "--store", store()});
  EXPECT_EQ(verify.code, 1);
  EXPECT_THAT(verify.out + verify.err, HasSubstr(largest.filename().string()));
  std::string keys;
  for (int i = 0; i < 2000; ++i) keys += "k" + std::to_string(i) + "\n";
  const Said get = Edo({"get", "--store", store(), "--keys-from", "-"}, {.input = keys});
  std::istringstream lines(get.out);
  size_t printed = 0;
  for (std::string key, a, b, c, d; lines >> key >> a >> b >> c >> d; ++printed) {
    ASSERT_EQ(key, "k" + d) << "a wrong row was printed";
  }
  EXPECT_TRUE(get.code == 1 || printed == 2000) << printed;
}

}  // namespace
}  // namespace edo::test
