#include "kernels/simt/shared_memory.h"

#include <algorithm>
#include <cstring>

#include "kernels/simt/check.h"
#include "kernels/simt/device_memory.h"
#include "kernels/simt/state.h"
#include "kernels/simt/text.h"

namespace edo::simt {
namespace {

constexpr size_t kRedZoneBytes = 64;
constexpr size_t kMaxStaticBytes = 48 * 1024;
constexpr size_t kStaticAlignment = 16;
constexpr size_t kDynamicAlignment = 1024;
constexpr int kFill = 0xCB;

size_t DistanceFrom(const SharedVariable& variable, const char* p) {
  const char* end = variable.address + variable.bytes;
  if (p < variable.address) return static_cast<size_t>(variable.address - p);
  return p < end ? 0 : static_cast<size_t>(p - end) + 1;
}

char* Place(Block* block, const SharedDeclaration& declaration) {
  const size_t mask = declaration.alignment - 1;
  const size_t at = (block->shared_used + kRedZoneBytes + mask) & ~mask;
  char* p = block->shared_window + at;
  if (at + declaration.bytes + kRedZoneBytes > kSharedWindowBytes) {
    Fail(Bug::kSharedLimit, [&] { return Format("no room for `%s`", declaration.name); });
  }
  AsanUnpoison(p, declaration.bytes);
  std::memset(p, kFill, declaration.bytes);
  char* used_end = block->shared_window + block->shared_used;
  check::SetState(used_end, static_cast<size_t>(p - used_end), check::kRedZone);
  check::SetState(p, declaration.bytes, check::kUnwritten);
  check::SetState(p + declaration.bytes, kRedZoneBytes, check::kRedZone);
  block->shared_used = at + declaration.bytes;
  block->shared_variables.push_back({declaration.key, p, declaration.bytes, declaration.name});
  return p;
}

void CheckLimits(const Block& block, const char* name) {
  const size_t total = block.shared_bytes + executor.launch->dynamic_shared_bytes;
  if (block.shared_bytes <= kMaxStaticBytes && total <= executor.config.max_shared_bytes) return;
  Fail(Bug::kSharedLimit, [&] {
    return Format("at `%s`: %zu bytes static (at most %zu), %zu with dynamic (at most %zu)", name,
                  block.shared_bytes, kMaxStaticBytes, total, executor.config.max_shared_bytes);
  });
}

}  // namespace

void ResetShared(Block* block) {
  AsanUnpoison(block->shared_window, block->shared_used);
  check::ForgetShared(block->shared_window, block->shared_used + kRedZoneBytes);
  std::memset(block->shared_window, kFill, block->shared_used);
  AsanPoison(block->shared_window, kSharedWindowBytes);
  block->shared_used = 0;
  block->shared_bytes = 0;
  block->shared_variables.clear();
  block->dynamic_shared = nullptr;
}

std::string DescribeShared(const char* p) {
  for (const auto& block : executor.blocks) {
    if (p < block->shared_window || p >= block->shared_window + kSharedWindowBytes) continue;
    const auto& variables = block->shared_variables;
    const auto nearest = std::min_element(
        variables.begin(), variables.end(),
        [p](const auto& a, const auto& b) { return DistanceFrom(a, p) < DistanceFrom(b, p); });
    if (nearest == variables.end()) return "shared memory";
    return Format("shared `%s` (%zu bytes) %+td", nearest->name, nearest->bytes,
                  p - nearest->address);
  }
  return "";
}

void* SharedStatic(const SharedDeclaration& declaration) noexcept {
  const ExecutorSection section;
  Block* block = executor.current->block;
  for (const SharedVariable& variable : block->shared_variables) {
    if (variable.key == declaration.key) return variable.address;
  }
  block->shared_bytes += declaration.bytes;
  CheckLimits(*block, declaration.name);
  SharedDeclaration placed = declaration;
  placed.alignment = std::max(declaration.alignment, kStaticAlignment);
  return Place(block, placed);
}

void* SharedDynamic() noexcept {
  const ExecutorSection section;
  Block* block = executor.current->block;
  if (block->dynamic_shared == nullptr) {
    block->dynamic_shared = Place(block, {.key = &block->dynamic_shared,
                                          .bytes = executor.launch->dynamic_shared_bytes,
                                          .alignment = kDynamicAlignment,
                                          .name = "dynamic shared memory"});
  }
  return block->dynamic_shared;
}

}  // namespace edo::simt
