// Base64 (RFC 4648, with padding): how JSONL carries keys that are not UTF-8.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace edo::storage {

std::string EncodeBase64(std::string_view bytes);
std::optional<std::string> DecodeBase64(std::string_view text);  // nullopt: not base64

}  // namespace edo::storage
