#include "engine/inner_table.h"

#include <string>

namespace edo::engine {

Status InnerTable::CheckOutput(const LookupOptions& options) const {
  if (options.dims > info().dim) {
    return Status::InvalidArgument("table '" + info().name + "': the first " +
                                   std::to_string(options.dims) + " values of rows of dim " +
                                   std::to_string(info().dim));
  }
  const uint32_t values = ValuesOf(options, info());
  if (options.out_stride == 0 || options.out_stride >= values) return Status::Ok();
  return Status::InvalidArgument("table '" + info().name + "': out_stride " +
                                 std::to_string(options.out_stride) + " is less than " +
                                 (options.dims == 0 ? "dim " : "dims ") + std::to_string(values));
}

}  // namespace edo::engine
