// A store that several hold at once: making and removing need it alone; a reader whose tables were
// replaced beside it still verifies clean; a low limit on open files does not keep a reader out.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "edo/store.h"
#include "storage/directory_lock.h"
#include "tests/support/stores.h"

#if !defined(__SANITIZE_THREAD__)

namespace edo {
namespace {

Status WriteTable(Store* store, const std::string& name, uint64_t version) {
  TableOptions options;
  options.dim = 8;
  options.replace = true;
  EDO_ASSIGN_OR_RETURN(auto writer, store->CreateTable(name, options));
  const std::vector<float> values = test::RowsOf(0, 300, 8, version);
  EDO_RETURN_IF_ERROR(writer->Append({.values = values}));
  return writer->Commit().status();
}

TEST(Sharing, MakingAndRemovingNeedTheStoreAlone) {
  const test::TempDir dir;
  {
    const auto alone = storage::DirectoryLock::Alone(dir.path());
    ASSERT_TRUE(alone.ok());
    EXPECT_EQ(Store::Create(dir.path()).status().code(), StatusCode::kBusy);
  }
  auto store = Store::Create(dir.path());
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  EXPECT_EQ(Store::Destroy(dir.path()).code(), StatusCode::kBusy);
  EXPECT_EQ(Store::DestroyIfNeverUsed(dir.path()).code(), StatusCode::kBusy);
  EDO_ASSERT_OK(WriteTable(store->get(), "t", 1));
  store->reset();
  EXPECT_EQ(Store::DestroyIfNeverUsed(dir.path()).code(), StatusCode::kInvalidArgument);
  auto reader = Store::Open(dir.path(), {.read_only = true});
  EXPECT_TRUE(reader.ok());
  EDO_EXPECT_OK(Store::Destroy(dir.path()));  // a reader holds no lock
}

TEST(Sharing, AnInterruptedCreationIsFinishedByTheNextWriter) {
  const test::TempDir dir;
  test::WriteFile(dir.File("EDO"), "edo store\nformat 1\ncommits 0\nxxh3 ");
  EXPECT_FALSE(Store::Open(dir.path()).ok()) << "a damaged file is not taken for a fresh one";
  std::filesystem::remove(dir.File("EDO"));
  test::WriteFile(dir.File("EDO.tmp"), "half");
  { ASSERT_TRUE(Store::Create(dir.path()).ok()); }
}

TEST(Sharing, AReaderVerifiesItsOwnMomentBesideAWriter) {
  const test::TempDir dir;
  auto writer = Store::Create(dir.File("s"));
  ASSERT_TRUE(writer.ok());
  EDO_ASSERT_OK(WriteTable(writer->get(), "a", 1));
  EDO_ASSERT_OK(WriteTable(writer->get(), "b", 1));
  auto reader = Store::Open(dir.File("s"), {.read_only = true});
  ASSERT_TRUE(reader.ok());
  EDO_ASSERT_OK(WriteTable(writer->get(), "a", 2));
  EDO_ASSERT_OK((*writer)->DropTable("b"));
  const auto report = (*reader)->Verify({});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  for (const Damage& d : report->damages) ADD_FAILURE() << d.file << ": " << d.what;
  EXPECT_EQ(report->tables, 2u);
}

TEST(Sharing, ALowLimitOnOpenFilesDoesNotKeepReadersOut) {
  const test::TempDir dir;
  auto store = Store::Create(dir.File("s"));
  ASSERT_TRUE(store.ok());
  for (int i = 0; i < 60; ++i) {
    EDO_ASSERT_OK(WriteTable(store->get(), "t" + std::to_string(i), 1));
  }
  store->reset();
  struct rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  // Only the soft limit can be put back, so this is done in a child.
  const pid_t child = fork();
  if (child == 0) {
    struct rlimit low = {100, 100};
    setrlimit(RLIMIT_NOFILE, &low);
    auto reader = Store::Open(dir.File("s"), {.read_only = true});
    const bool good = reader.ok() && (*reader)->OpenTable("t59").ok() &&
                      !(*reader)->stats().read_path_note.empty();
    if (!reader.ok()) std::cerr << reader.status().ToString() << "\n";
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace edo

#endif
