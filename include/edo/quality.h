// How well the rows of a table keep the rows that they were made of.
//
// Errors are relative: of row x that comes back as y, |x-y|^2 / |x|^2, so that rows of small norm
// count as much as others. Everything is computed in
// double: norms from 1e-45 to 1e38 are no special case. Plain values; share them as a std::string.
//
//   auto report = edo::Analyze(*table, {.against = {.path = "glove.6B.100d.txt"}});
//   for (const std::string& miss : edo::MissedOf({.min_cosine = 0.99}, report->quality)) ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "edo/codec_goal.h"
#include "edo/options.h"
#include "edo/status.h"
#include "edo/store.h"
#include "edo/table.h"
#include "edo/transfer.h"

namespace edo {

struct QualityOptions {
  uint32_t worst_rows = 20;  // how many rows of the largest relative error are named
};

struct WorstRow {
  uint64_t row = 0;      // as the caller numbers rows
  double norm = 0;       // of the original
  double rel_error = 0;  // infinite when a value came back as inf or nan
  double cosine = 0;     // of original and decoded row
  std::string key{};     // filled by Analyze
};

// Rows whose norm lies within [from, to).
struct NormBucket {
  double from = 0, to = 0;  // neighbours of 1, 2, 5, 10, 20, 50 ...
  uint64_t rows = 0;
  double rel_error_mean = 0, rel_error_worst = 0;
  double cosine_mean = 0, cosine_worst = 0;
};

// Rows whose relative error lies within [from, to).
struct ErrorBin {
  double from = 0, to = 0;  // neighbours of ten round steps a power of ten: 1, 1.25, 1.6, 2 ...
  uint64_t rows = 0;
};

// Figures over rows that were compared. "Scored" rows are those whose original is finite and not
// all zeros; the means, percentiles and worst values are theirs. Without any, errors are 0 and
// cosines 1.
struct QualityReport {
  uint64_t rows = 0;             // compared, of every kind
  uint64_t rows_zero = 0;        // the original is all zeros: they have no relative error
  uint64_t rows_zero_wrong = 0;  // of those, rows that do not come back as zeros
  // The original has an inf or nan: such a row is in no other figure. Wrong: an inf did not come
  // back as that inf, a nan not as a nan, or a finite value not as one.
  uint64_t rows_non_finite = 0;
  uint64_t rows_non_finite_wrong = 0;
  uint64_t rows_exact = 0;   // scored rows of relative error 0
  uint64_t rows_broken = 0;  // scored rows that came back with an inf or nan: error inf, cosine -1

  double rel_error_mean = 0;    // mean of the rows' relative errors
  double rel_error_global = 0;  // sum of errors / sum of energies, of zero rows, too
  // Of the ceil(rows / 100)-th worst scored row. Exact up to kExactPercentileRows scored rows;
  // beyond, at most 1/128 too bad and never too good (of the cosine: 1 - cosine is).
  double rel_error_p99 = 0;
  double rel_error_worst = 0;
  double cosine_mean = 1;  // a row that comes back as zeros has cosine 0
  double cosine_p1 = 1;
  double cosine_worst = 1;
  double abs_error_worst = 0;  // largest |x - y| of a value, of zero rows, too

  // Of the neighbours by cosine of a sample of rows, how many are the same among decoded rows,
  // 0 to 1; empty when it was not measured.
  std::optional<double> overlap;

  std::vector<WorstRow> worst;      // worst first; equal errors by row
  std::vector<NormBucket> norms;    // ascending, without empty ones
  std::vector<ErrorBin> histogram;  // ascending, without empty ones, rows_exact and rows_broken
};
inline constexpr uint64_t kExactPercentileRows = 8192;

struct OverlapOptions {
  uint32_t neighbours = 10;  // of each query row, itself left out; at least 1
  uint32_t queries = 1000;   // rows whose neighbours are sought, drawn by `seed`; at least 1
  uint64_t seed = 1;
  uint32_t threads = 1;
};

// What of the budget is missed, each in words: "p1 cosine 0.9871 is below 0.99". Empty: nothing.
// At kWorst rows of zeros and rows with inf or nan must come back as such, too.
std::vector<std::string> MissedOf(const QualityBudget& budget, const QualityReport& report);

struct AnalyzeOptions {
  SourceOptions against;  // the original, read as the import read it; keys of int64 and text tables
                          // are taken to be of the table's kind
  // A key that repeats in `against`: an error, or which of its rows the table is held against.
  // kLast reads the file twice, so it cannot be a pipe.
  OnDuplicate on_duplicate = OnDuplicate::kError;
  QualityOptions quality{};
  OverlapOptions overlap{};
  // Rows among which overlap is measured, drawn from those of the table; about so many, fewer where
  // two copies of them would need more than 256 MiB. 0: overlap is not measured.
  uint64_t overlap_rows = 100000;
  uint32_t threads = 2;  // 1: all in the calling thread; 2 or more: the file is read ahead
  ProgressFunction progress{};
};

struct AnalysisReport {
  QualityReport quality;  // rows are row numbers of the table
  std::string format;     // of the original: what was recognised
  std::string compression;
  std::string source_dtype;
  std::string position_unit;    // "line" or "row"
  uint64_t rows_read = 0;       // of the original
  uint64_t rows_skipped = 0;    // on_bad_row = skip
  uint64_t values_changed = 0;  // non_finite = zero
  uint64_t keys_changed = 0;    // invalid_utf8 = replace
  uint64_t rows_repeated = 0;   // rows of the original that on_duplicate left out
  uint64_t rows_missing = 0;    // rows of the original whose key the table lacks
  uint64_t rows_extra = 0;      // rows of the table whose key the original lacks
  uint64_t overlap_rows = 0;    // rows among which overlap was measured
  struct Unmatched {
    std::string key;        // text keys: bytes; others: decimal
    uint64_t position = 0;  // of a missing one: in the original, see position_unit; of an extra
                            // one: its row number
  };
  std::vector<Unmatched> missing, extra;  // the first 20 of each
  std::vector<std::string> warnings;
};

// Reads the original once (kLast: twice) and holds every row of it against the table's row of the
// same key; keys of a dense table are row numbers of the original. Rows that the table lacks, or
// the original, are counted and in no figure. Any row of the table that cannot be read ends the
// call: kCorruption, kIoError. kBadInput names file and line or row of what is wrong in the
// original: also keys of another kind, another dim, a key that repeats.
// Memory: about 50 MB, one bit a row of the table, and two copies of the rows of `overlap_rows`.
Result<AnalysisReport> Analyze(const Table& table, const AnalyzeOptions& options);

}  // namespace edo
