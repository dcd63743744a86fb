// Body of QualityPage.
#include "tools/quality_page.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "tools/common.h"
#include "tools/text.h"

namespace edo::tools {
namespace {

// Text of a page: no markup, no control bytes, always UTF-8.
std::string Escaped(std::string_view bytes) {
  std::string text = Printable(bytes);
  if (!IsUtf8(text)) text = "base64:" + Base64(bytes);
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string Number(double value, const char* format = "%.4g") {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}
std::string Cosine(double value) { return Number(value, "%.8g"); }

// A plot with logarithmic axes of powers of ten; x and y are handed over as log10.
class Plot {
 public:
  static constexpr double kWidth = 720, kHeight = 300, kLeft = 70, kRight = 15, kTop = 12,
                          kBottom = 45;

  Plot(double x_least, double x_most, double y_least, double y_most)
      : x0_(x_least), x1_(x_most), y0_(y_least), y1_(y_most) {}

  double X(double x) const { return kLeft + (x - x0_) / (x1_ - x0_) * (kWidth - kLeft - kRight); }
  double Y(double y) const {
    return kHeight - kBottom - (y - y0_) / (y1_ - y0_) * (kHeight - kTop - kBottom);
  }

  void Bar(double from, double to, double top, const std::string& title) {
    const double height = std::max(1.0, Y(y0_) - Y(top));  // one row of a million is seen, too
    body_ += "<rect class=\"bar\" x=\"" + Place(X(from) + 0.5) + "\" y=\"" +
             Place(Y(y0_) - height) + "\" width=\"" + Place(std::max(1.0, X(to) - X(from) - 1)) +
             "\" height=\"" + Place(height) + "\"><title>" + title + "</title></rect>\n";
  }
  void Dot(const char* kind, double x, double y, const std::string& title) {
    body_ += "<circle class=\"" + std::string(kind) + "\" cx=\"" + Place(X(x)) + "\" cy=\"" +
             Place(Y(y)) + "\" r=\"4\"><title>" + title + "</title></circle>\n";
  }
  void Line(const char* kind, const std::vector<std::pair<double, double>>& points) {
    std::string places;
    for (const auto& [x, y] : points) places += Place(X(x)) + "," + Place(Y(y)) + " ";
    body_ += "<polyline class=\"" + std::string(kind) + "\" points=\"" + places + "\"/>\n";
  }
  void PowersBelow() {
    for (const double power : Powers(x0_, x1_)) {
      Text(X(power), kHeight - kBottom + 16, "middle", Power(power));
      Grid(X(power), kTop, X(power), kHeight - kBottom);
    }
  }
  void PowersLeft() {
    for (const double power : Powers(y0_, y1_)) LabelLeft(power, Power(power));
  }
  void LabelLeft(double y, const std::string& label) {
    Text(kLeft - 8, Y(y) + 4, "end", label);
    Grid(kLeft, Y(y), kWidth - kRight, Y(y));
  }
  void Caption(const std::string& below) { Text(kWidth / 2, kHeight - 8, "middle", below); }

  std::string Svg(const std::string& label) const {
    return "<svg viewBox=\"0 0 " + Place(kWidth) + " " + Place(kHeight) +
           "\" role=\"img\" aria-label=\"" + label + "\">\n" + grid_ + body_ + "</svg>\n";
  }

 private:
  static std::string Place(double value) { return Number(value, "%.1f"); }
  static std::string Power(double power) {
    return "10<tspan dy=\"-5\" font-size=\"9\">" + Number(power, "%.0f") + "</tspan>";
  }
  // Whole powers within the range, at most about ten of them.
  static std::vector<double> Powers(double least, double most) {
    const double step = std::max(1.0, std::ceil((most - least) / 10));
    std::vector<double> powers;
    for (double p = std::ceil(least - 1e-9) + 0.0; p <= most + 1e-9; p += step) powers.push_back(p);
    return powers;
  }
  void Text(double x, double y, const char* anchor, const std::string& text) {
    grid_ += "<text x=\"" + Place(x) + "\" y=\"" + Place(y) + "\" text-anchor=\"" + anchor + "\">" +
             text + "</text>\n";
  }
  void Grid(double xa, double ya, double xb, double yb) {
    grid_ += "<line x1=\"" + Place(xa) + "\" y1=\"" + Place(ya) + "\" x2=\"" + Place(xb) +
             "\" y2=\"" + Place(yb) + "\"/>\n";
  }

  const double x0_, x1_, y0_, y1_;
  std::string grid_, body_;
};

std::string HistogramPlot(const std::vector<ErrorBin>& bins) {
  if (bins.empty()) return "<p>No row has an error that is finite and not 0.</p>\n";
  uint64_t most = 0;
  for (const ErrorBin& bin : bins) most = std::max(most, bin.rows);
  Plot plot(std::floor(std::log10(bins.front().from) + 1e-9),
            std::ceil(std::log10(bins.back().to) - 1e-9), 0, static_cast<double>(most));
  plot.PowersBelow();
  for (const uint64_t rows : std::set<uint64_t>{0, most / 2, most}) {
    plot.LabelLeft(static_cast<double>(rows), HumanCount(rows));
  }
  for (const ErrorBin& bin : bins) {
    plot.Bar(std::log10(bin.from), std::log10(bin.to), static_cast<double>(bin.rows),
             Number(bin.from) + " to " + Number(bin.to) + ": " + CountOf(bin.rows, "row"));
  }
  plot.Caption("relative squared error of a row");
  return plot.Svg("Rows by relative error");
}

std::string NormPlot(const std::vector<NormBucket>& buckets) {
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (const NormBucket& bucket : buckets) {
    for (const double error : {bucket.rel_error_mean, bucket.rel_error_worst}) {
      if (!(error > 0) || !std::isfinite(error)) continue;
      least = std::min(least, std::log10(error));
      most = std::max(most, std::log10(error));
    }
  }
  if (!(least <= most)) return "<p>No row has an error that is finite and not 0.</p>\n";
  Plot plot(std::floor(std::log10(buckets.front().from) + 1e-9),
            std::ceil(std::log10(buckets.back().to) - 1e-9), std::floor(least),
            std::max(std::ceil(most), std::floor(least) + 1));
  plot.PowersBelow();
  plot.PowersLeft();
  std::vector<std::pair<double, double>> means, worsts;
  const auto add = [&](const char* kind, const NormBucket& bucket, double error,
                       std::vector<std::pair<double, double>>* points) {
    if (!(error > 0) || !std::isfinite(error)) return;
    const double x = (std::log10(bucket.from) + std::log10(bucket.to)) / 2;
    points->emplace_back(x, std::log10(error));
    plot.Dot(kind, x, std::log10(error),
             "norm " + Number(bucket.from) + " to " + Number(bucket.to) + ": " + kind + " " +
                 Number(error) + ", " + CountOf(bucket.rows, "row"));
  };
  for (const NormBucket& bucket : buckets) {
    add("mean", bucket, bucket.rel_error_mean, &means);
    add("worst", bucket, bucket.rel_error_worst, &worsts);
  }
  plot.Line("mean", means);
  plot.Line("worst", worsts);
  plot.Caption("norm of the original row");
  return plot.Svg("Relative error by norm") +
         "<p class=\"legend\"><span class=\"mean\">●</span> mean &nbsp; <span class=\"worst\">●"
         "</span> worst</p>\n";
}

// Rows of cells; the first is the head.
std::string HtmlTable(const std::vector<std::vector<std::string>>& rows) {
  std::string out = "<table>\n";
  for (size_t r = 0; r < rows.size(); ++r) {
    const std::string cell = r == 0 ? "th" : "td";
    out += "<tr>";
    for (const std::string& text : rows[r]) out += "<" + cell + ">" + text + "</" + cell + ">";
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

std::string Figures(const AnalysisReport& report) {
  const QualityReport& q = report.quality;
  const std::string overlap =
      q.overlap ? Number(*q.overlap) + " (sample of " + HumanCount(report.overlap_rows) + " rows)"
                : "not measured";
  return HtmlTable(
             {{"figure", "mean", "1st percentile from the worst", "worst"},
              {"relative squared error", Number(q.rel_error_mean), Number(q.rel_error_p99),
               Number(q.rel_error_worst)},
              {"cosine", Cosine(q.cosine_mean), Cosine(q.cosine_p1), Cosine(q.cosine_worst)}}) +
         HtmlTable({{"figure", ""},
                    {"relative error of all values together", Number(q.rel_error_global)},
                    {"largest error of a value", Number(q.abs_error_worst)},
                    {"neighbours kept", overlap},
                    {"rows compared", HumanCount(q.rows)},
                    {"of them exact", HumanCount(q.rows_exact)},
                    {"of zeros", HumanCount(q.rows_zero)},
                    {"of zeros, not back as zeros", HumanCount(q.rows_zero_wrong)},
                    {"with inf or nan", HumanCount(q.rows_non_finite)},
                    {"with inf or nan, not back as such", HumanCount(q.rows_non_finite_wrong)},
                    {"finite, back with inf or nan", HumanCount(q.rows_broken)},
                    {"rows that the table lacks", HumanCount(report.rows_missing)},
                    {"rows that the original lacks", HumanCount(report.rows_extra)},
                    {"repeated rows left out", HumanCount(report.rows_repeated)}});
}

constexpr const char* kStyle =
    ":root{color-scheme:light dark;--ink:#1c2430;--paper:#fff;--soft:#6b7686;--rule:#d9dee6;"
    "--a:#2f6db5;--b:#c2571a}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e3e8ef;--paper:#15191f;--soft:#97a3b3;"
    "--rule:#333c48;--a:#6fa8e8;--b:#ef8e52}}"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);"
    "max-width:760px;margin:2em auto;padding:0 1em}"
    "h1{font-size:1.4em}h2{font-size:1.1em;margin-top:2em}"
    "table{border-collapse:collapse;margin:.8em 0;font-variant-numeric:tabular-nums}"
    "th,td{text-align:left;padding:.15em 1.2em .15em 0;border-bottom:1px solid var(--rule);"
    "overflow-wrap:anywhere}th{color:var(--soft);font-weight:600}"
    "svg{width:100%;height:auto}svg text{font-size:12px;fill:var(--soft)}"
    "svg line{stroke:var(--rule)}.bar{fill:var(--a)}"
    "circle.mean{fill:var(--a)}circle.worst{fill:var(--b)}polyline{fill:none;stroke-width:1.5}"
    "polyline.mean{stroke:var(--a)}polyline.worst{stroke:var(--b)}"
    ".legend{color:var(--soft)}span.mean{color:var(--a)}span.worst{color:var(--b)}"
    ".missed{color:var(--b);font-weight:600}.soft{color:var(--soft)}";

}  // namespace

std::string QualityPage(const TableInfo& table, const std::string& original,
                        const AnalysisReport& report, const std::vector<std::string>& missed) {
  const std::string name = Escaped(table.name);
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>" +
      name + ": quality</title>\n<style>" + kStyle + "</style></head>\n<body>\n<h1>" + name +
      " against its original</h1>\n<p class=\"soft\">" + HumanCount(table.rows) + " rows of " +
      std::to_string(table.dim) + " values as " + Escaped(CodecText(table)) + ", " +
      HumanBytes(table.row_bytes) + " a row; original: " + Escaped(original) + "</p>\n";
  for (const std::string& miss : missed) {
    page += "<p class=\"missed\">Missed: " + Escaped(miss) + "</p>\n";
  }
  page += Figures(report);
  page += "<h2>Rows by relative error</h2>\n" + HistogramPlot(report.quality.histogram);
  page += "<h2>Relative error by norm</h2>\n" + NormPlot(report.quality.norms);
  std::vector<std::vector<std::string>> rows{
      {"norm from", "to", "rows", "mean error", "worst error", "mean cosine", "worst cosine"}};
  for (const NormBucket& b : report.quality.norms) {
    rows.push_back({Number(b.from), Number(b.to), HumanCount(b.rows), Number(b.rel_error_mean),
                    Number(b.rel_error_worst), Cosine(b.cosine_mean), Cosine(b.cosine_worst)});
  }
  page += HtmlTable(rows) + "<h2>Worst rows</h2>\n";
  rows = {{"key", "row", "norm", "relative error", "cosine"}};
  for (const WorstRow& w : report.quality.worst) {
    rows.push_back({Escaped(w.key), std::to_string(w.row), Number(w.norm), Number(w.rel_error),
                    Cosine(w.cosine)});
  }
  page += HtmlTable(rows);
  return page +
         "<p class=\"soft\">The relative squared error of row x that comes back as y is |x-y|² / "
         "|x|². Norms, errors and cosines are those of rows whose original is finite and not all "
         "zeros. Of neighbours, the share of the nearest by cosine that stay the nearest when all "
         "rows are decoded.</p>\n</body></html>\n";
}

}  // namespace edo::tools
