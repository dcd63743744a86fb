// Parts of composed tables as words, and back.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "edo/compose.h"

namespace edo {
namespace {

constexpr struct {
  std::string_view word;
  PartHash hash;
  size_t least, most;  // numbers that follow
  std::string_view form, example;
} kHashes[] = {
    {"quotient", PartHash::kQuotient, 1, 1, "TABLE:quotient:DIVISOR", "users:quotient:1000"},
    {"quotient-f32", PartHash::kQuotientF32, 1, 1, "TABLE:quotient-f32:DIVISOR",
     "users:quotient-f32:1000"},
    {"remainder", PartHash::kRemainder, 1, 1, "TABLE:remainder:DIVISOR", "users:remainder:1000"},
    {"affine", PartHash::kAffine, 3, 4, "TABLE:affine:A:B:P[:BUCKETS]",
     "users:affine:31:7:1000003"},
    {"murmur3", PartHash::kMurmur3, 1, 3, "TABLE:murmur3:SEED[:WORD[:BUCKETS]]", "users:murmur3:8"},
};

std::string ShortestFloat(float value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

// All of `text` as a number, of whatever type.
template <typename T>
bool Number(std::string_view text, T* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

std::string_view ComposedOpName(ComposedOp op) {
  switch (op) {
    case ComposedOp::kSum:
      return "sum";
    case ComposedOp::kProduct:
      return "product";
    case ComposedOp::kConcat:
      return "concat";
  }
  return "";
}

std::string ComposedPartText(const ComposedPart& part) {
  std::string out = part.table + ":";
  for (const auto& known : kHashes) {
    if (known.hash == part.hash) out += known.word;
  }
  const auto add = [&](uint64_t number) { out += ":" + std::to_string(number); };
  if (part.hash == PartHash::kAffine) {
    add(part.a), add(part.b), add(part.p);
  } else if (part.hash == PartHash::kMurmur3) {
    add(part.seed), add(part.word);
  } else {
    add(part.divisor);
  }
  if (part.buckets != 0) add(part.buckets);
  if (part.weight != 1) out += "*" + ShortestFloat(part.weight);
  return out;
}

Result<std::vector<ComposedPart>> ParseComposedParts(std::string_view text) {
  const auto wrong = [&](std::string_view what, std::string_view expected) {
    return Status::InvalidArgument("part '" + std::string(text) + "': " + std::string(what) +
                                   "; expected " + std::string(expected));
  };
  const auto form = [](const auto& of) {
    return std::string(of.form) + ", as " + std::string(of.example);
  };
  // A name may hold colons: the hash is the last word that names one.
  size_t at = std::string_view::npos;
  const auto* kind = &kHashes[0];
  for (const auto& known : kHashes) {
    const size_t found = text.rfind(":" + std::string(known.word) + ":");
    if (found == std::string_view::npos || found == 0) continue;
    if (at != std::string_view::npos && found < at) continue;
    at = found;
    kind = &known;
  }
  if (at == std::string_view::npos) {
    for (const auto& known : kHashes) {
      const std::string word = ":" + std::string(known.word);
      if (text == word || text.starts_with(word + ":")) {
        return wrong("no table is named before '" + word + (text == word ? "'" : ":'"),
                     form(known));
      }
      if (text.ends_with(word)) {
        return wrong("nothing follows the hash '" + std::string(known.word) + "'", form(known));
      }
    }
    std::string forms;
    for (const auto& known : kHashes) {
      forms += (forms.empty() ? "" : ", ") + std::string(known.form);
    }
    return wrong("found no hash",
                 "TABLE:HASH:PARAMETER, as users:remainder:1000; hashes are " + forms);
  }
  ComposedPart part;
  part.table = text.substr(0, at);
  part.hash = kind->hash;
  std::string_view rest = text.substr(at + kind->word.size() + 2);
  if (const size_t star = rest.rfind('*'); star != std::string_view::npos) {
    if (!Number(rest.substr(star + 1), &part.weight) || !std::isfinite(part.weight)) {
      return wrong("found weight '" + std::string(rest.substr(star + 1)) + "'", "a finite number");
    }
    rest = rest.substr(0, star);
  }
  std::vector<uint64_t> numbers;
  for (size_t begin = 0; begin <= rest.size();) {
    const size_t end = std::min(rest.find(':', begin), rest.size());
    uint64_t number = 0;
    if (!Number(rest.substr(begin, end - begin), &number)) {
      return wrong("found '" + std::string(rest.substr(begin, end - begin)) +
                       "' where a whole number from 0 belongs",
                   form(*kind));
    }
    numbers.push_back(number);
    begin = end + 1;
  }
  if (numbers.size() < kind->least || numbers.size() > kind->most) {
    return wrong("found " + std::to_string(numbers.size()) + " numbers", form(*kind));
  }
  if (part.hash == PartHash::kAffine) {
    part.a = numbers[0];
    part.b = numbers[1];
    part.p = numbers[2];
    if (numbers.size() == 4) part.buckets = numbers[3];
    if (part.p == 0) return wrong("found P 0", "a prime");
    if (numbers.size() == 4 && part.buckets == 0) return wrong("found 0 buckets", "1 or more");
    return std::vector<ComposedPart>{part};
  }
  if (part.hash != PartHash::kMurmur3) {
    part.divisor = numbers[0];
    if (part.divisor == 0) return wrong("found divisor 0", "1 or more");
    return std::vector<ComposedPart>{part};
  }
  if (numbers[0] > UINT32_MAX) return wrong("found a seed beyond 32 bits", "0 .. 4294967295");
  part.seed = static_cast<uint32_t>(numbers[0]);
  if (numbers.size() == 3) part.buckets = numbers[2];
  if (numbers.size() == 3 && part.buckets == 0) return wrong("found 0 buckets", "1 or more");
  if (numbers.size() > 1 && numbers[1] > 3) {
    return wrong("found word " + std::to_string(numbers[1]), "words 0 to 3");
  }
  std::vector<ComposedPart> parts;
  for (uint32_t word = 0; word < 4; ++word) {
    if (numbers.size() > 1 && word != numbers[1]) continue;
    part.word = word;
    parts.push_back(part);
  }
  return parts;
}

}  // namespace edo
