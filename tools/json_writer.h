// JsonWriter: one JSON value, written as it is made, so that a million rows need no memory. The
// caller keeps the nesting right; commas are the writer's work. What comes out is always valid
// JSON: non-finite numbers become the strings "nan", "inf", "-inf", bytes that are not UTF-8 become
// base64 under a name that ends in _base64 (Bytes) or U+FFFD (messages and paths, String).
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "tools/console.h"

namespace edo::tools {

class JsonWriter {
 public:
  explicit JsonWriter(Output* out) : out_(out) {}

  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }  // the outermost one ends with a newline
  void BeginArray() { Open('['); }
  void EndArray() { Close(']'); }

  void Name(std::string_view name);  // of the next value
  void String(std::string_view text);
  void Int(int64_t value);
  void UInt(uint64_t value);
  void Float(float value);
  void Double(double value);
  void Bool(bool value);
  void Null();

  void Field(std::string_view name, std::string_view text) { Name(name), String(text); }
  void Field(std::string_view name, const char* text) { Name(name), String(text); }
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) void Field(std::string_view name, T value) {
    Name(name), UInt(value);
  }
  template <std::same_as<bool> T>
  void Field(std::string_view name, T value) {
    Name(name), Bool(value);
  }
  void Field(std::string_view name, double value) { Name(name), Double(value); }

  // "name": "text", or "name_base64": "..." when the bytes are not UTF-8.
  void Bytes(std::string_view name, std::string_view bytes);

 private:
  void Separate();
  void Open(char bracket);
  void Close(char bracket);
  void Raw(std::string_view text) { out_->Write(text); }

  Output* out_;
  int depth_ = 0;
  bool first_ = true;  // the next value is the first of its object or array, or follows a name
};

}  // namespace edo::tools
