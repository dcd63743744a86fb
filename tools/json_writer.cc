// Body of JsonWriter.
#include "tools/json_writer.h"

#include <cmath>
#include <cstdio>

#include "tools/text.h"

namespace edo::tools {

void JsonWriter::Separate() {
  if (!first_) Raw(",");
  first_ = false;
}

void JsonWriter::Open(char bracket) {
  Separate();
  Raw(std::string_view(&bracket, 1));
  ++depth_;
  first_ = true;
}

void JsonWriter::Close(char bracket) {
  Raw(std::string_view(&bracket, 1));
  first_ = false;
  if (--depth_ == 0) Raw("\n");
}

void JsonWriter::Name(std::string_view name) {
  String(name);
  Raw(":");
  first_ = true;
}

void JsonWriter::String(std::string_view text) {
  Separate();
  std::string out = "\"";
  const bool utf8 = IsUtf8(text);
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      out += escape;
    } else if (byte >= 0x80 && !utf8) {
      out += "\xef\xbf\xbd";
    } else {
      out += c;
    }
  }
  out += '"';
  Raw(out);
}

void JsonWriter::Int(int64_t value) {
  Separate();
  Raw(std::to_string(value));
}

void JsonWriter::UInt(uint64_t value) {
  Separate();
  Raw(std::to_string(value));
}

void JsonWriter::Float(float value) {
  std::string text;
  AppendFloat(&text, value);
  if (!std::isfinite(value)) return String(text);
  Separate();
  Raw(text);
}

void JsonWriter::Double(double value) {
  const std::string text = FloatText(value);
  if (!std::isfinite(value)) return String(text);
  Separate();
  Raw(text);
}

void JsonWriter::Bool(bool value) {
  Separate();
  Raw(value ? "true" : "false");
}

void JsonWriter::Null() {
  Separate();
  Raw("null");
}

void JsonWriter::Bytes(std::string_view name, std::string_view bytes) {
  if (IsUtf8(bytes)) return Field(name, bytes);
  Field(std::string(name) + "_base64", Base64(bytes));
}

}  // namespace edo::tools
