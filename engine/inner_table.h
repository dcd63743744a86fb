// InnerTable: what the loops over a table (pipeline.h) need of it beside the public interface; both
// kinds of table have it, those that hold rows and composed ones.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "edo/table.h"
#include "engine/store_context.h"

namespace edo::engine {

class TableImpl;

// Values of a row that a lookup asks for.
inline uint32_t ValuesOf(const LookupOptions& options, const TableInfo& info) {
  return options.dims == 0 ? info.dim : options.dims;
}

class InnerTable : public Table {
 public:
  virtual const StoreContext& context() const = 0;
  // The table when it holds rows itself, or null.
  virtual const TableImpl* stored() const = 0;
  // The status of keys of that kind.
  virtual Status CheckKeys(const KeyBatch& keys) const = 0;
  // Table::LookupRowsOnDevice of row numbers that lie on the host.
  virtual Result<std::unique_ptr<DeviceLookup>> LookupHostRowsOnDevice(
      std::span<const uint64_t> rows, const LookupOptions& options, void* out,
      void* stream) const = 0;
  Status CheckOutput(const LookupOptions& options) const;
};

}  // namespace edo::engine
