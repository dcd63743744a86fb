// The backends that a program's device tests run with: those named in EDO_TEST_BACKENDS, "cpu,cuda"
// in the ordinary program (cuda is skipped where there is no device), "simt" in the one that has the
// executor.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#ifndef EDO_TEST_BACKENDS
#define EDO_TEST_BACKENDS "cpu,cuda"
#endif

namespace edo::test {

inline std::vector<std::string> BackendNames() {
  std::vector<std::string> names;
  std::stringstream list(EDO_TEST_BACKENDS);
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  return names;
}

}  // namespace edo::test
