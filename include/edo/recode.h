// Recode: a table's rows in another codec, while readers are at work.
//
//   auto report = edo::Recode(store.get(), {.table = "glove", .codec =
//   *edo::CodecSpec::Parse("P,L4")});
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "edo/codec_goal.h"
#include "edo/codec_spec.h"
#include "edo/hot_tiers.h"
#include "edo/options.h"
#include "edo/status.h"
#include "edo/store.h"

namespace edo {

struct RecodeOptions {
  std::string table;
  CodecSpec codec{};
  // Mixed precision (hot_tiers.h): the first rows, in their order, in these codecs; the rest, which
  // may not be empty, in `codec`. Empty: all rows in one codec, whatever they were in.
  std::vector<HotTier> hot{};
  // Instead of `codec`: the one that keeps this goal, held against all rows as the table has them
  // now, hot ones included; see TableOptions::choose_codec.
  std::optional<CodecGoal> choose_codec{};
  Compression compression = Compression::kAuto;
  uint32_t threads = 2;
  ProgressFunction progress{};  // rows done
};

struct RecodeReport {
  TableInfo before, after;
  bool unchanged = false;  // the table has these codecs already; nothing was written
  // Of some rows, L4 of L4+4 or P,L4 of P,L4+4: codes were taken over, not made again.
  bool dropped_refinement = false;
};

// Encodes the rows as they decode now - errors of the old codec stay in them - into a new
// generation, with the same keys, order and metadata, which then takes the table's place in one
// step. Handles that were opened before keep the old rows; until the last of them is closed both
// are on disk. Needs free space for the new rows and keys. L4 of an L4+4 table (and P,L4 of P,L4+4)
// drops the refinement: rows decode to exactly what their L4 parts say. Rows that are in their new
// codec already keep their codes, however tiers are cut. A codec that learns keeps what it has
// learned where at least half of a new tier's rows are in it already, in one tier of the table; the
// tier's other rows are encoded by that. Else it learns from the new tier's rows as they decode.
// kBadInput names the row, and key, of a value that the codec refuses; kGoalMissed as of a choice
// at import; kAlreadyExists when the table was replaced meanwhile; kCancelled. After any error the
// table is as it was.
Result<RecodeReport> Recode(Store* store, const RecodeOptions& options);

}  // namespace edo
