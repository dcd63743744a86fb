// The whole command: all verbs, parsing, dispatch.
#pragma once

namespace edo::tools {

// Runs `edo argv[1..]` and returns the exit code.
int RunCommand(int argc, const char* const* argv);

}  // namespace edo::tools
