// Files of word pairs and of analogies.
#include <cmath>

#include "storage/readers/word_tasks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace edo::storage;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const char* column : {"", "Sim"}) {
    auto input = Input::FromMemory("fuzz", bytes);
    if (!input.ok()) return 0;
    const auto pairs = ReadWordPairs(std::move(*input), column);
    if (!pairs.ok()) continue;
    if (pairs->pairs.empty()) __builtin_trap();
    for (const auto& pair : pairs->pairs) {
      if (pair.first.empty() || pair.second.empty() || !std::isfinite(pair.score)) __builtin_trap();
    }
  }
  auto input = Input::FromMemory("fuzz", bytes);
  if (!input.ok()) return 0;
  const auto questions = ReadQuestions(std::move(*input));
  if (!questions.ok()) return 0;
  if (questions->questions.empty()) __builtin_trap();
  for (const auto& question : questions->questions) {
    if (question.section >= questions->sections.size()) __builtin_trap();
  }
  return 0;
}
