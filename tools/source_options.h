// Options that say how an input file is read; `edo import` and `edo info FILE` share them.
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

// FILE and the options of how to read it.
void AddSourceOptions(CLI::App* app, SourceArgs* args, bool file_required);

}  // namespace edo::tools
