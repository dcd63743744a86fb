// Bodies of edo/row_order.h.
#include "edo/row_order.h"

namespace edo {

std::string_view OrderKindName(OrderKind kind) {
  switch (kind) {
    case OrderKind::kFile:
      return "file";
    case OrderKind::kCounts:
      return "counts";
    case OrderKind::kTrace:
      return "trace";
    case OrderKind::kTiered:
      return "tiered";
  }
  return "unknown";
}

Result<RowOrder> RowOrder::Parse(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  RowOrder order;
  if (colon != std::string_view::npos) order.file = text.substr(colon + 1);
  for (const OrderKind kind :
       {OrderKind::kFile, OrderKind::kCounts, OrderKind::kTrace, OrderKind::kTiered}) {
    if (word != OrderKindName(kind)) continue;
    order.kind = kind;
    if (colon != std::string_view::npos && order.file.empty()) {
      return Status::InvalidArgument("order '" + std::string(text) + "' names no file");
    }
    EDO_RETURN_IF_ERROR(order.Validate());
    return order;
  }
  return Status::InvalidArgument("order '" + std::string(text) +
                                 "' is not known; known are file, counts:FILE, trace:FILE, tiered, "
                                 "tiered:FILE");
}

Status RowOrder::Validate() const {
  const bool needs_file = kind == OrderKind::kCounts || kind == OrderKind::kTrace;
  if (needs_file && file.empty()) {
    const std::string name(OrderKindName(kind));
    return Status::InvalidArgument("order '" + name + "' needs a file: " + name + ":FILE");
  }
  if (kind == OrderKind::kFile && !file.empty()) {
    return Status::InvalidArgument("order 'file' takes no file, '" + file + "' was given");
  }
  return Status::Ok();
}

}  // namespace edo
