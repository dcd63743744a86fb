// Signals of the command: Ctrl-C sets a flag that long calls poll through their ProgressFunction,
// and a second Ctrl-C ends the process at once. Broken pipes come back as write errors.
#pragma once

namespace edo::tools {

void InstallSignalHandlers();
bool Interrupted();

}  // namespace edo::tools
