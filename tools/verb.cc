// Body of Verb.
#include "tools/verb.h"

#include "tools/text.h"

namespace edo::tools {

Verb::Verb(CLI::App* app) : app_(app) {
  app->add_flag("--json", json, "Print one JSON object on standard output");
  app->add_flag("-q,--quiet", quiet, "Say nothing on standard error but errors");
}

void Verb::AddStore(std::string* store, bool required) {
  app_->add_option("-s,--store", *store, "Directory of the store")
      ->type_name(kDirectoryType)
      ->required(required);
}

void Verb::AddTable(std::string* table, const char* help) {
  app_->add_option("-t,--table", *table, help)->type_name("NAME");
}

void Verb::TakesKeys(const char* words) {
  // Not a CLI11 positional: those change keys such as "[a,b]".
  app_->allow_extras();
  class KeyFormatter : public CLI::Formatter {
   public:
    explicit KeyFormatter(std::string words) : words_(std::move(words)) {}
    std::string make_usage(const CLI::App* app, std::string name) const override {
      std::string text = CLI::Formatter::make_usage(app, name);
      while (!text.empty() && text.back() == '\n') text.pop_back();
      return text + " " + words_ + "\n";
    }

   private:
    std::string words_;
  };
  auto formatter = std::make_shared<KeyFormatter>(words);
  formatter->column_width(28);
  app_->formatter(formatter);
}

Result<std::vector<std::string>> Verb::Keys() const {
  std::vector<std::string> keys = app_->remaining();
  for (const std::string& key : keys) {
    if (key.size() > 1 && key[0] == '-' && !ParseInt64(key)) {
      return Status::InvalidArgument("'" + key + "' is not an option of edo " + app_->get_name() +
                                     "; a key that begins with '-' goes after --");
    }
  }
  keys.insert(keys.end(), literal_args.begin(), literal_args.end());
  return keys;
}

std::string JoinWords(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += between;
    out += word;
  }
  return out;
}

}  // namespace edo::tools
