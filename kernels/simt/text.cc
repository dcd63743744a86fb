#include "kernels/simt/text.h"

#include <link.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

namespace edo::simt {
namespace {

// The lines of `addr2line` for one offset into this program: function, file:line, and so on
// outwards through inlined calls. Empty when there is no addr2line or no debug information.
std::vector<std::string> AddressToLines(uintptr_t offset) {
  static const std::string program = [] {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string();
  }();
  std::vector<std::string> lines;
  if (program.empty() || program.find('\'') != std::string::npos) return lines;
  const std::string command =
      Format("addr2line -Cfie '%s' 0x%zx 2>/dev/null", program.c_str(), offset);
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return lines;
  char buffer[1024];
  std::string line;
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) {
    line += buffer;
    if (line.back() != '\n') continue;
    line.pop_back();
    lines.push_back(line);
    line.clear();
  }
  pclose(pipe);
  return lines;
}

// Headers of the dialect: a kernel author wants the line that called them.
bool IsDialect(const std::string& file) {
  const bool header = file.find(".h:") != std::string::npos;
  const bool ours = file.find("kernels/simt/") != std::string::npos ||
                    file.find("kernels/cuda/dialect.h") != std::string::npos ||
                    file.find("kernels/cuda/tile.h") != std::string::npos;
  const bool standard = file.find("/include/c++/") != std::string::npos;
  return (header && ours) || standard;
}

}  // namespace

std::string Format(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}

const char* BaseName(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

namespace {

uintptr_t ProgramBase() {
  static const uintptr_t base = [] {
    uintptr_t found = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* out) {
          *static_cast<uintptr_t*>(out) = info->dlpi_addr;
          return 1;  // the program comes first
        },
        &found);
    return found;
  }();
  return base;
}

}  // namespace

uint32_t ProgramOffset(const void* pc) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(pc) - ProgramBase());
}

std::string SourceLine(uint32_t return_offset) {
  const std::vector<std::string> lines = AddressToLines(return_offset - 1);
  std::string found;
  for (size_t i = 1; i < lines.size(); i += 2) {
    if (lines[i].starts_with("??")) continue;
    found = lines[i].substr(0, lines[i].find(" (discriminator"));
    if (!IsDialect(lines[i])) break;
  }
  return found.empty() ? Format("+0x%x", return_offset) : BaseName(found.c_str());
}

std::string FunctionName(const void* function) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(function) - ProgramBase();
  const std::vector<std::string> lines = AddressToLines(offset);
  if (lines.empty() || lines[0].starts_with("??")) return Format("+0x%zx", offset);
  static constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  std::string name = lines[0];
  if (name.starts_with("void ")) name.erase(0, 5);
  for (size_t at; (at = name.find(kAnonymous)) != std::string::npos;) {
    name.erase(at, kAnonymous.size());
  }
  return name.substr(0, name.find('('));
}

}  // namespace edo::simt
