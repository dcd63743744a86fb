// Text for reports: printf into a string, and code addresses as source lines. Called when a launch
// has failed, so cost does not matter. Thread safety: none needed, the device is held.
#pragma once

#include <cstdint>
#include <string>

namespace edo::simt {

std::string Format(const char* format, ...) __attribute__((format(printf, 1, 2)));

// "a/b/c.cu" -> "c.cu".
const char* BaseName(const char* path);

// A code address as an offset from where the program is loaded.
uint32_t ProgramOffset(const void* pc);

// "cache.cu:45" of the instruction before `return_offset`, or "+0x1234" where addr2line is missing.
// Lines inside the executor's own headers are left out in favour of the kernel line that calls
// them.
std::string SourceLine(uint32_t return_offset);

// "edo::kernels::Probe<128>" of a kernel's address, or "+0x1234".
std::string FunctionName(const void* function);

}  // namespace edo::simt
