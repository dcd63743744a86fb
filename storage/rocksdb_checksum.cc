#include "storage/rocksdb_checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace edo::storage {
namespace {

class Xxh3Generator : public rocksdb::FileChecksumGenerator {
 public:
  Xxh3Generator() { XXH3_64bits_reset(state_.get()); }
  void Update(const char* data, size_t n) override { XXH3_64bits_update(state_.get(), data, n); }
  void Finalize() override {
    const XXH64_hash_t digest = XXH3_64bits_digest(state_.get());
    checksum_.assign(reinterpret_cast<const char*>(&digest), sizeof digest);
  }
  std::string GetChecksum() const override { return checksum_; }
  const char* Name() const override { return kFileChecksumName; }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_{XXH3_createState()};
  std::string checksum_;
};

class Xxh3Factory : public rocksdb::FileChecksumGenFactory {
 public:
  const char* Name() const override { return kFileChecksumName; }
  std::unique_ptr<rocksdb::FileChecksumGenerator> CreateFileChecksumGenerator(
      const rocksdb::FileChecksumGenContext& /*context*/) override {
    return std::make_unique<Xxh3Generator>();
  }
};

}  // namespace

std::shared_ptr<rocksdb::FileChecksumGenFactory> NewFileChecksumFactory() {
  return std::make_shared<Xxh3Factory>();
}

}  // namespace edo::storage
