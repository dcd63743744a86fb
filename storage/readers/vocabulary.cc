// Keys from tokenizer.json or vocab.json: tokens by id.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "storage/readers/key_source.h"
#include "storage/readers/messages.h"

namespace edo::storage {
namespace {

struct Token {
  uint64_t id;
  std::string text;
};

// Collects tokens from three places: the top object (vocab.json), model.vocab (object or list of
// [piece, score]), and added_tokens ({"id", "content"}). Everything else is passed over.
class VocabularySax final : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<Token> top, model, added;
  const std::string& error() const { return error_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool number_unsigned(number_unsigned_t value) override {
    if (Is({})) top.push_back({value, key_});
    if (Is({"model", "vocab"})) model.push_back({value, key_});
    if (InAdded() && key_ == "id") added_id_ = value;
    return true;
  }
  bool string(string_t& value) override {
    if (Is({"model", "vocab", "[]"}) && piece_open_) {  // [piece, score]: its place is its id
      model.push_back({pieces_++, value});
      piece_open_ = false;
    }
    if (InAdded() && key_ == "content") content_ = value;
    return true;
  }
  bool start_object(size_t) override { return Push(key_); }
  bool start_array(size_t) override {
    piece_open_ = true;
    return Push(path_.empty() ? "[]" : key_);
  }
  bool end_object() override {
    if (InAdded() && added_id_ != UINT64_MAX) added.push_back({added_id_, content_});
    return Pop();
  }
  bool end_array() override { return Pop(); }
  bool key(string_t& value) override {
    key_ = value;
    return true;
  }
  bool parse_error(size_t byte, const std::string&, const nlohmann::detail::exception& e) override {
    const std::string what = e.what();
    error_ =
        "byte " + std::to_string(byte) + ": not valid JSON: " + what.substr(what.find(']') + 2);
    return false;
  }

 private:
  // The path holds the key of every open container but the top one; "[]" inside arrays.
  bool Is(std::initializer_list<std::string_view> path) const {
    return open_ == path.size() + 1 && std::equal(path.begin(), path.end(), path_.begin() + 1);
  }
  bool InAdded() const { return Is({"added_tokens", "[]"}); }
  bool Push(const std::string& key) {
    if (++open_ > 64) {
      error_ = "JSON is nested too deeply";
      return false;
    }
    path_.push_back(key);
    if (InAdded()) added_id_ = UINT64_MAX;
    key_ = "[]";
    return true;
  }
  bool Pop() {
    --open_;
    path_.pop_back();
    key_ = "[]";
    return true;
  }

  std::vector<std::string> path_;
  std::string key_, content_, error_;
  size_t open_ = 0;
  uint64_t pieces_ = 0, added_id_ = UINT64_MAX;
  bool piece_open_ = false;
};

class VocabularyKeys final : public KeySource {
 public:
  VocabularyKeys(std::string name, std::vector<Token> tokens)
      : name_(std::move(name)), tokens_(std::move(tokens)) {}
  const std::string& name() const override { return name_; }
  KeyKind kind() const override { return KeyKind::kText; }
  std::optional<uint64_t> count() const override { return tokens_.size(); }
  Result<uint64_t> Next(uint64_t wanted, RowBatch* batch) override {
    wanted = std::min<uint64_t>(wanted, tokens_.size() - next_);
    for (uint64_t i = 0; i < wanted; ++i) batch->AddTextKey(tokens_[next_++].text);
    return wanted;
  }

 private:
  const std::string name_;
  const std::vector<Token> tokens_;
  uint64_t next_ = 0;
};

}  // namespace

Result<std::unique_ptr<KeySource>> OpenVocabulary(std::unique_ptr<Input> input) {
  constexpr size_t kMaxBytes = size_t{1} << 30;
  const std::string name = input->name();
  EDO_ASSIGN_OR_RETURN(const std::string_view text, input->Peek(kMaxBytes));
  if (text.size() >= kMaxBytes) return BadByte(name, 0, "the vocabulary is larger than 1 GiB");
  VocabularySax sax;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &sax)) {
    return Status::BadInput(name + " " + sax.error());
  }
  const bool tokenizer = !sax.model.empty();
  std::vector<Token> tokens = std::move(tokenizer ? sax.model : sax.top);
  if (tokenizer) tokens.insert(tokens.end(), sax.added.begin(), sax.added.end());
  if (tokens.empty()) {
    return Status::BadInput(name +
                            ": no vocabulary: expected model.vocab (tokenizer.json) or an "
                            "object of token and id (vocab.json)");
  }
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const Token& a, const Token& b) { return a.id < b.id; });
  // A token may stand both in the vocabulary and among the added ones.
  const auto repeated = [](const Token& a, const Token& b) {
    return a.id == b.id && a.text == b.text;
  };
  tokens.erase(std::unique(tokens.begin(), tokens.end(), repeated), tokens.end());
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].id == i) continue;
    const bool twice = i > 0 && tokens[i].id == tokens[i - 1].id;
    return Status::BadInput(name + ": " +
                            (twice ? "tokens " + Quote(tokens[i - 1].text) + " and " +
                                         Quote(tokens[i].text) + " have the same id " +
                                         std::to_string(tokens[i].id)
                                   : "no token has id " + std::to_string(i) + "; the next id is " +
                                         std::to_string(tokens[i].id)));
  }
  return std::unique_ptr<KeySource>(std::make_unique<VocabularyKeys>(name, std::move(tokens)));
}

}  // namespace edo::storage
