// The `edo` command.
#include "tools/app.h"
#include "tools/signals.h"

int main(int argc, char** argv) {
  edo::tools::InstallSignalHandlers();
  return edo::tools::RunCommand(argc, argv);
}
