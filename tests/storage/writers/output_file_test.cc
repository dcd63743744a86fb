// Output files: nothing appears before Finish, nothing stays after a failure, every refusal of the
// operating system is reported.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "storage/row_writer.h"
#include "tests/support/test_util.h"

namespace edo::storage {
namespace {

using ::testing::HasSubstr;

TargetInfo Target(const std::string& path, uint64_t rows) {
  TargetInfo target;
  target.path = path;
  target.format = "word2vec";
  target.key_kind = KeyKind::kDense;
  target.dim = 1;
  target.rows = rows;
  target.table = "t";
  return target;
}

Status WriteAll(const TargetInfo& target) {
  EDO_ASSIGN_OR_RETURN(auto writer, OpenRowWriter(target));
  EDO_RETURN_IF_ERROR(writer->Begin());
  RowBatch batch;
  batch.dim = 1;
  batch.row_count = 1000;
  batch.values.assign(1000, 0.5f);
  for (uint64_t at = 0; at < target.rows; at += 1000) EDO_RETURN_IF_ERROR(writer->Append(batch));
  return writer->Finish();
}

size_t Entries(const std::string& directory) {
  const std::filesystem::directory_iterator all(directory);
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST(OutputFile, AppearsWholeAtFinish) {
  const test::TempDir directory;
  const std::string path = directory.File("t.vec");
  {
    auto writer = OpenRowWriter(Target(path, 1000));
    ASSERT_TRUE(writer.ok());
    EDO_ASSERT_OK((*writer)->Begin());
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_EQ((*writer)->Finish().code(), StatusCode::kInvalidArgument);  // rows are missing
  }
  EXPECT_EQ(Entries(directory.path()), 0u);
  EDO_ASSERT_OK(WriteAll(Target(path, 1000)));
  EXPECT_EQ(Entries(directory.path()), 1u);
  EXPECT_TRUE(test::ReadFile(path).starts_with("1000 1\n0 0.5\n1 0.5\n"));
}

TEST(OutputFile, ExistingFilesNeedForceAndLinksAreFollowed) {
  const test::TempDir directory;
  const std::string path = directory.File("t.vec"), link = directory.File("link");
  test::WriteFile(path, "old");
  EXPECT_EQ(WriteAll(Target(path, 1000)).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(test::ReadFile(path), "old");
  ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
  TargetInfo target = Target(link, 1000);
  target.force = true;
  EDO_ASSERT_OK(WriteAll(target));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_NE(test::ReadFile(path), "old");
  EXPECT_EQ(Entries(directory.path()), 2u);
}

TEST(OutputFile, RefusalsOfTheSystemAreNamed) {
  const test::TempDir directory;
  EXPECT_THAT(std::string(WriteAll(Target(directory.path(), 1000)).message()),
              HasSubstr("is a directory"));
  EXPECT_EQ(WriteAll(Target("/dev/full", 1000)).code(), StatusCode::kNoSpace);
  EXPECT_EQ(WriteAll(Target("/dev/full", 1000000)).code(), StatusCode::kNoSpace);
  EXPECT_FALSE(WriteAll(Target("/nonexistent/t.vec", 1000)).ok());
  EDO_EXPECT_OK(WriteAll(Target("/dev/null", 1000)));
  EXPECT_EQ(Entries(directory.path()), 0u);
}

TEST(OutputFile, APipeWhoseReaderHasGoneIsAnError) {
  const auto before = signal(SIGPIPE, SIG_IGN);
  const test::TempDir directory;
  const std::string path = directory.File("fifo");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  auto writer = OpenRowWriter(Target(path, 1000));
  ASSERT_TRUE(writer.ok());
  EDO_ASSERT_OK((*writer)->Begin());
  close(reader);
  RowBatch batch;
  batch.dim = 1;
  batch.row_count = 1000;
  batch.values.assign(1000, 0.5f);
  EDO_ASSERT_OK((*writer)->Append(batch));  // still in the buffer
  EXPECT_THAT(std::string((*writer)->Finish().message()), HasSubstr("Broken pipe"));
  signal(SIGPIPE, before);
}

TEST(OutputFile, KeysThatAFormatCannotHoldAreNamed) {
  TargetInfo target = Target("t", 1);
  target.key_kind = KeyKind::kText;
  const std::vector<std::pair<std::string, std::string>> refused{{"word2vec", "a\nb"},
                                                                 {"word2vec", "a "},
                                                                 {"word2vec", "catch 22"},
                                                                 {"word2vec-bin", "a b"},
                                                                 {"word2vec-bin", "\na"},
                                                                 {"glove",
                                                                  "\xef\xbb\xbf"
                                                                  "a"},
                                                                 {"tsv", "a\tb"},
                                                                 {"npy", "a\nb"},
                                                                 {"raw", "a\r"},
                                                                 {"glove", "<html><p>"}};
  for (const auto& [format, key] : refused) {
    target.format = format;
    auto writer = OpenRowWriter(target);
    ASSERT_TRUE(writer.ok());
    const Status status = (*writer)->CheckKey(key, 0);
    EXPECT_EQ(status.code(), StatusCode::kBadInput) << format << " " << key;
    EXPECT_THAT(std::string(status.message()), HasSubstr("row 0"));
  }
  for (const std::string format : {"csv", "jsonl", "safetensors", "edo"}) {
    target.format = format;
    EDO_EXPECT_OK((*OpenRowWriter(target))->CheckKey("a\n\"\t,\r \xff", 0));
  }
}

TEST(OutputFile, TheExtensionTellsTheFormat) {
  TargetInfo target = Target("t.vec", 0);
  target.format = "";
  for (const auto& [path, format] : {std::pair{"a.vec", "fasttext"},
                                     {"a.npy", "npy"},
                                     {"b.c.JSONL", "jsonl"},
                                     {"x.edo", "edo"}}) {
    target.path = path;
    auto writer = OpenRowWriter(target);
    ASSERT_TRUE(writer.ok()) << path;
    EXPECT_EQ((*writer)->format(), format);
  }
  target.path = "noextension";
  EXPECT_EQ(OpenRowWriter(target).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace edo::storage
