// Options that say how an input file is read; `edo import`, `edo info FILE` and the verbs that hold
// a table against its original share them.
#pragma once

#include "edo/transfer.h"
#include "tools/verb.h"

namespace edo::tools {

struct SourceArgs {
  SourceOptions source;
  std::string key_kind = "auto";
  std::string delimiter;
  std::string dim;

  // What the option texts mean together; kInvalidArgument when they are no good.
  Result<SourceOptions> Resolve() const;
};

// The file, as a plain argument FILE or as an option of another name, and how to read it.
void AddSourceOptions(CLI::App* app, SourceArgs* args, const char* file, bool file_required);

}  // namespace edo::tools
