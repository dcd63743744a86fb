// QualityBudget: what a report must reach.
#include <cmath>
#include <cstdio>

#include "edo/quality.h"

namespace edo {
namespace {

std::string Short(double value, int digits = 6) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

// "0.8 is below 0.9", with as many digits as tell the two apart.
std::string Apart(double value, const char* is, double limit) {
  int digits = 6;
  while (digits < 17 && Short(value, digits) == Short(limit, digits)) ++digits;
  return Short(value, digits) + is + Short(limit, digits);
}

Status CheckNumber(const char* name, const std::optional<double>& value, double least,
                   double most) {
  if (!value || (*value >= least && *value <= most)) return Status::Ok();
  return Status::InvalidArgument(std::string(name) + " " + Short(*value) + "; allowed are " +
                                 Short(least) + " to " +
                                 (std::isinf(most) ? "any number" : Short(most)));
}

struct Levels {
  const char* error_name;
  double error;
  const char* cosine_name;
  double cosine;
};
Levels LevelsAt(QualityBudget::At at, const QualityReport& report) {
  switch (at) {
    case QualityBudget::At::kMean:
      return {"mean", report.rel_error_mean, "mean", report.cosine_mean};
    case QualityBudget::At::kWorst:
      return {"worst", report.rel_error_worst, "worst", report.cosine_worst};
    case QualityBudget::At::kP1:
      break;
  }
  return {"p99", report.rel_error_p99, "p1", report.cosine_p1};
}

std::string NotAsSuch(uint64_t count, const char* what) {
  return std::to_string(count) + (count == 1 ? " row " : " rows ") + what;
}

}  // namespace

Status QualityBudget::Validate() const {
  EDO_RETURN_IF_ERROR(CheckNumber("max_rel_error", max_rel_error, 0, HUGE_VAL));
  EDO_RETURN_IF_ERROR(CheckNumber("min_cosine", min_cosine, -1, 1));
  return CheckNumber("min_overlap", min_overlap, 0, 1);
}

// Comparisons are written so that a nan misses.
std::vector<std::string> MissedOf(const QualityBudget& budget, const QualityReport& report) {
  std::vector<std::string> missed;
  const Levels levels = LevelsAt(budget.at, report);
  if (budget.max_rel_error && !(levels.error <= *budget.max_rel_error)) {
    missed.push_back(std::string(levels.error_name) + " relative error " +
                     Apart(levels.error, " is above ", *budget.max_rel_error));
  }
  if (budget.min_cosine && !(levels.cosine >= *budget.min_cosine)) {
    missed.push_back(std::string(levels.cosine_name) + " cosine " +
                     Apart(levels.cosine, " is below ", *budget.min_cosine));
  }
  if (budget.min_overlap && !report.overlap) {
    missed.push_back("the overlap of neighbours could not be measured; " +
                     Short(*budget.min_overlap) + " was asked for");
  } else if (budget.min_overlap && !(*report.overlap >= *budget.min_overlap)) {
    missed.push_back("overlap of neighbours " +
                     Apart(*report.overlap, " is below ", *budget.min_overlap));
  }
  if (budget.at == QualityBudget::At::kWorst && (budget.max_rel_error || budget.min_cosine)) {
    if (report.rows_zero_wrong > 0) {
      missed.push_back(NotAsSuch(report.rows_zero_wrong, "of zeros not back as zeros"));
    }
    if (report.rows_non_finite_wrong > 0) {
      missed.push_back(NotAsSuch(report.rows_non_finite_wrong, "with inf or nan not back as such"));
    }
  }
  return missed;
}

}  // namespace edo
