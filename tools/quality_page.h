// The report of `edo analyze` as one HTML page that needs nothing beside it: plots are inline SVG,
// there is no script.
#pragma once

#include <string>
#include <vector>

#include "edo/quality.h"

namespace edo::tools {

std::string QualityPage(const TableInfo& table, const std::string& original,
                        const AnalysisReport& report, const std::vector<std::string>& missed);

}  // namespace edo::tools
