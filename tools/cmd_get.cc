// edo get: rows by key, in the order asked. Missing keys and rows that cannot be read do not stop
// the others; they are named at the end and the exit code is 1.
#include <deque>
#include <mutex>

#include "tools/common.h"
#include "tools/key_source.h"
#include "tools/signals.h"
#include "tools/text.h"
#include "tools/verb.h"

namespace edo::tools {
namespace {

constexpr size_t kBatchKeys = 1024;
constexpr size_t kNamedMissing = 20;  // keys named one by one on standard error

class GetVerb final : public Verb {
 public:
  explicit GetVerb(CLI::App* app) : Verb(app) {
    TakesKeys("KEY...");
    AddStore(&store_);
    AddTable(&table_, "Table to read; not needed when the store has only one");
    app->add_option("--keys-from", keys_from_, "File of keys, one a line; - for standard input")
        ->type_name(kFileType);
    app->footer(
        "Example:\n  edo get --store vectors.edo --table glove river stone\n"
        "Prints key, TAB, values with TABs between, in the order asked: keys of the\n"
        "command line, then those of --keys-from. Rows are read in the order of the\n"
        "disk, many thousand keys at a time, in constant memory. In a key, TAB,\n"
        "newline, carriage return and backslash are printed as \\t \\n \\r \\\\;\n"
        "--json prints keys exactly.\n"
        "Keys that begin with '-' go after --:  edo get --store vectors.edo -- -x --");
  }

  int Run(Console* console) override {
    auto keys = Keys();
    if (!keys.ok()) return console->Usage(keys.status().message(), "get");
    if (keys->empty() && keys_from_.empty()) {
      return console->Usage("no key was given", "get");
    }
    const auto store = OpenForReading(store_, *console);
    if (!store.ok()) return console->Fail(store.status());
    const auto table = OpenNamedTable(**store, table_);
    if (!table.ok()) return console->Fail(table.status());
    const auto source = KeySource::Open(std::move(*keys), keys_from_);
    if (!source.ok()) return console->Fail(source.status());
    return PrintAll(console, **table, source->get());
  }

 private:
  // Rows that could not be printed, by the reason.
  struct Losses {
    std::vector<std::string> missing;
    std::vector<std::string> unread;
    std::vector<std::string> reasons;
  };

  int PrintAll(Console* console, const Table& table, KeySource* source) {
    JsonWriter writer(&console->out());
    Losses losses;
    const Status status = PrintRows(console, &writer, table, source, &losses);
    if (console->json && opened_) FinishJson(&writer, table.info(), losses, status);
    for (const std::string& reason : losses.reasons) console->Problem(reason);
    NameAll(console, table.info(), losses.missing, "no key");
    NameAll(console, table.info(), losses.unread, "could not read key");
    if (!status.ok()) return console->Fail(status);
    return losses.missing.empty() && losses.unread.empty() ? kExitOk : kExitError;
  }

  // Keys as they were given, on their way from the thread that reads them to the one that prints.
  class GivenKeys {
   public:
    void Push(const std::vector<std::string>& keys) {
      const std::lock_guard lock(mutex_);
      keys_.insert(keys_.end(), keys.begin(), keys.end());
    }
    std::string Pop() {
      const std::lock_guard lock(mutex_);
      std::string key = std::move(keys_.front());
      keys_.pop_front();
      return key;
    }

   private:
    std::mutex mutex_;
    std::deque<std::string> keys_;
  };

  Status PrintRows(Console* console, JsonWriter* writer, const Table& table, KeySource* source,
                   Losses* losses) {
    const TableInfo& info = table.info();
    GivenKeys given;
    Status bad_key;  // comes behind the keys before it
    const auto next = [&](KeyBatch* batch) -> Result<bool> {
      if (!bad_key.ok()) return bad_key;
      EDO_ASSIGN_OR_RETURN(std::vector<std::string> keys, source->Next(kBatchKeys));
      if (keys.empty()) return false;
      if (info.key_kind == KeyKind::kText) {
        given.Push(keys);
        batch->tokens = std::move(keys);
        return true;
      }
      for (size_t i = 0; i < keys.size(); ++i) {
        if (const auto number = ParseInt64(keys[i])) {
          batch->ids.push_back(*number);
          continue;
        }
        bad_key = BadKey(source->PlaceOf(i), keys[i], info);
        keys.resize(i);
      }
      given.Push(keys);
      return true;
    };
    const auto print = [&](const BulkRows& rows) -> Status {
      if (Interrupted() || console->out().failed()) return Status::Cancelled("interrupted");
      OpenJson(console, writer, info);
      for (uint64_t i = 0; i < rows.count; ++i) {
        std::string key = given.Pop();
        if (rows.states[i] == RowState::kFound) {
          const std::span<const float> row = rows.values.subspan(i * info.dim, info.dim);
          console->json ? PrintJsonRow(writer, info, key, row) : PrintTsvRow(console, key, row);
        } else {
          (rows.states[i] == RowState::kUnread ? losses->unread : losses->missing)
              .push_back(std::move(key));
        }
      }
      return Status::Ok();
    };
    BulkReport report;
    const Status status = table.BulkLookup(next, {}, print, &report);
    for (const ReadFailure& failure : report.failures) {
      losses->reasons.emplace_back(failure.status.message());
    }
    if (console->out().failed()) return Status::Ok();  // said elsewhere
    OpenJson(console, writer, info);
    return report.complete ? Status::Ok() : status;
  }

  // A key of the command line is a matter of usage, one of a file of the file.
  static Status BadKey(const std::string& place, const std::string& key, const TableInfo& info) {
    if (place.empty()) return ParseKeys({key}, info).status();
    return Status::BadInput(place + ": found key '" + key +
                            "', expected a 64-bit integer; table '" + info.name + "' has " +
                            std::string(KeyKindName(info.key_kind)) + " keys");
  }

  void OpenJson(Console* console, JsonWriter* writer, const TableInfo& info) {
    if (!console->json || opened_) return;
    opened_ = true;
    writer->BeginObject();
    writer->Field("schema", "edo.get/1");
    writer->Field("table", info.name);
    writer->Field("dim", info.dim);
    writer->Name("rows");
    writer->BeginArray();
  }

  static void PrintTsvRow(Console* console, std::string_view key, std::span<const float> row) {
    std::string line = TsvField(key);
    for (float value : row) {
      line += '\t';
      AppendFloat(&line, value);
    }
    line += '\n';
    console->out().Write(line);
  }

  static void PrintJsonRow(JsonWriter* writer, const TableInfo& info, std::string_view key,
                           std::span<const float> row) {
    writer->BeginObject();
    WriteKey(writer, info, key);
    writer->Name("values");
    writer->BeginArray();
    for (float value : row) writer->Float(value);
    writer->EndArray();
    writer->EndObject();
  }

  static void FinishJson(JsonWriter* writer, const TableInfo& info, const Losses& losses,
                         const Status& status) {
    writer->EndArray();
    const auto keys = [&](const char* name, const std::vector<std::string>& list) {
      writer->Name(name);
      writer->BeginArray();
      for (const std::string& key : list) {
        writer->BeginObject();
        WriteKey(writer, info, key);
        writer->EndObject();
      }
      writer->EndArray();
    };
    keys("missing", losses.missing);
    keys("unread", losses.unread);
    if (!status.ok()) WriteError(writer, status);
    writer->EndObject();
  }

  static void NameAll(const Console* console, const TableInfo& info,
                      const std::vector<std::string>& keys, const std::string& what) {
    for (size_t i = 0; i < keys.size() && i < kNamedMissing; ++i) {
      console->Problem("table '" + info.name + "': " + what + " '" + keys[i] + "'");
    }
    if (keys.size() > kNamedMissing) {
      console->Problem("table '" + info.name + "': " + what + " for " +
                       HumanCount(keys.size() - kNamedMissing) + " more");
    }
  }

  std::string store_, table_, keys_from_;
  bool opened_ = false;  // the JSON object has begun
};

}  // namespace

std::unique_ptr<Verb> MakeGet(CLI::App* parent) {
  return std::make_unique<GetVerb>(parent->add_subcommand("get", "Print rows by key"));
}

}  // namespace edo::tools
