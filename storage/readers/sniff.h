// What an input is, by its first bytes, then by its name. Things that are no table, or tables that
// this build cannot read, are refused by name.
#pragma once

#include <string>
#include <string_view>

#include "edo/transfer.h"
#include "storage/readers/input.h"

namespace edo::storage {

// What `start`, the first bytes of an input, shows it to be when that is something EDO does not
// read: a sentence with what to do instead. Empty when it shows nothing of the kind.
std::string NameForeignBytes(std::string_view start);

// A name of ImportFormats(). Consumes nothing.
Result<std::string> SniffFormat(Input* input);

// True when the bytes could not stand in a text file: a NUL or another control byte among them.
bool HasBinaryBytes(std::string_view bytes);

// ".vec" of "a/b.vec.gz": the last extension but a compression's, in lower case, without the dot.
std::string ExtensionOf(std::string_view path);

}  // namespace edo::storage
