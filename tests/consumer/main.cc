// Makes a store, writes a table, reads it back: the example of the README, as a program.
#include <edo/store.h>
#include <edo/transfer.h>
#include <edo/version.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <vector>

namespace {

edo::Status Run(const std::string& directory) {
  EDO_ASSIGN_OR_RETURN(auto store, edo::Store::Create(directory));
  edo::TableOptions options;
  options.key_kind = edo::KeyKind::kText;
  options.dim = 2;
  EDO_ASSIGN_OR_RETURN(auto writer, store->CreateTable("words", options));
  const std::vector<float> values{1.0f, 2.0f, 3.0f, 4.0f};
  const std::vector<std::string_view> keys{"river", "stone"};
  edo::TableWriter::Rows rows;
  rows.values = values;
  rows.text_keys = keys;
  EDO_RETURN_IF_ERROR(writer->Append(rows));
  EDO_RETURN_IF_ERROR(writer->Commit().status());

  EDO_ASSIGN_OR_RETURN(const auto table, store->OpenTable("words"));
  const std::array<std::string_view, 2> asked{"stone", "nobody"};
  std::array<float, 4> out{};
  edo::LookupReport report;
  EDO_RETURN_IF_ERROR(
      table->Lookup(std::span<const std::string_view>(asked), {}, out.data(), &report));
  if (out[0] != 3.0f || out[1] != 4.0f || out[2] != 0.0f || report.missing != 1) {
    return edo::Status::Corruption("the rows are not those that were written");
  }
  const std::vector<std::string_view> words{"river", "stone", "river"};
  const std::vector<uint64_t> offsets{0, 2};
  const edo::Bags bags{.offsets = offsets, .mode = edo::PoolMode::kMean};
  EDO_RETURN_IF_ERROR(table->LookupBags(words, bags, {}, out.data()));
  if (out[0] != 2.0f || out[1] != 3.0f || out[2] != 1.0f || out[3] != 2.0f) {
    return edo::Status::Corruption("the bags are not the means of their rows");
  }
  if (!edo::Backends()[1].available) {  // on the CPU device memory is any memory
    EDO_ASSIGN_OR_RETURN(const auto lookup,
                         table->LookupOnDevice(std::span(words).first(2), {}, out.data()));
    EDO_RETURN_IF_ERROR(lookup->Finish());
    if (out[0] != 1.0f || out[3] != 4.0f) {
      return edo::Status::Corruption("the device's rows are not the host's");
    }
  }
  const std::vector<std::vector<uint64_t>> batches{{1}, {0, 1}};
  EDO_ASSIGN_OR_RETURN(const auto pipeline, table->MakePipeline(edo::KeysFrom(batches)));
  float sum = 0;
  for (const edo::PipelineBatch& batch : *pipeline) {
    EDO_RETURN_IF_ERROR(batch.status);
    for (const float value : batch.values) sum += value;
  }
  EDO_RETURN_IF_ERROR(pipeline->status());
  if (sum != 17.0f) return edo::Status::Corruption("the batches are not those of the table");
  edo::ExportOptions to;
  to.path = directory + ".npy";
  return edo::Export(*table, to).status();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const edo::Status s = Run(argv[1]);
  std::printf("edo %s: %s\n", EDO_VERSION_STRING, s.ToString().c_str());
  return s.ok() ? 0 : 1;
}
