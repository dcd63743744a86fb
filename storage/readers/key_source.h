// KeySource: keys that come from somewhere else than the rows: a text file, integer ids, a
// tokenizer, two tensors beside the embeddings. Streams, but for vocabularies in JSON. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "edo/transfer.h"
#include "storage/readers/input.h"
#include "storage/readers/npy_header.h"
#include "storage/readers/safetensors_header.h"
#include "storage/row_batch.h"

namespace edo::storage {

class KeySource {
 public:
  virtual ~KeySource() = default;
  virtual const std::string& name() const = 0;        // for messages
  virtual KeyKind kind() const = 0;                   // kInt64 or kText
  virtual std::optional<uint64_t> count() const = 0;  // when known ahead
  // Appends up to `wanted` keys to the batch's key fields; fewer only at the end.
  virtual Result<uint64_t> Next(uint64_t wanted, RowBatch* batch) = 0;
};

// options.keys names a file, or is "dense" (no source: nullptr). Arrays of a .npz ("npz:NAME") are
// its reader's business.
Result<std::unique_ptr<KeySource>> OpenKeySource(const SourceOptions& options);

// The keys that EDO's own safetensors export puts beside "embeddings": I64 "keys", or U8
// "keys_bytes" with I64 "keys_offsets". nullptr when there are none. `input` must outlive it.
Result<std::unique_ptr<KeySource>> OpenTensorKeys(const Input* input,
                                                  const SafetensorsHeader& header);

// A .npy file, or such an entry of a .npz: integers or strings, 1-D or one column.
Result<std::unique_ptr<KeySource>> OpenNpyKeys(std::unique_ptr<Input> input);

// The rest of a .npy file whose header, of a string type (<U12, |S8), was read and checked as 1-D.
Result<std::unique_ptr<KeySource>> OpenNpyStrings(std::unique_ptr<Input> input,
                                                  const NpyHeader& header);

// The rest of `input` must be `count` keys of `key_bytes` each, where its length is known.
Status CheckNpyKeysSize(const Input& input, uint64_t count, uint64_t key_bytes);

// tokenizer.json (model.vocab, as an object or a Unigram list) and vocab.json: tokens in the order
// of their ids, which must be 0, 1, 2 ...
Result<std::unique_ptr<KeySource>> OpenVocabulary(std::unique_ptr<Input> input);

}  // namespace edo::storage
