// TableRecoder: rows of a table as they decode, through other codecs, into new generations - one a
// tier - beside the old one. What it wrote becomes a table by the caller's commit. Used by Recode,
// and by a writer of a table of mixed precision, whose rows wait in a generation of floats.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "edo/codec_goal.h"
#include "edo/hot_tiers.h"
#include "edo/options.h"
#include "engine/codec_chooser.h"
#include "engine/generation_writer.h"
#include "engine/store_impl.h"
#include "engine/table_impl.h"
#include "storage/codec.h"

namespace edo::engine {

struct RecodeWork {
  std::vector<HotTier> hot;
  CodecSpec codec{};                      // of the last tier
  std::optional<CodecGoal> choose_codec;  // of the last tier, instead
  Compression compression = Compression::kAuto;
  uint32_t threads = 1;
  std::function<Status(uint64_t rows_done)> step;  // called now and then, by one thread at a time
};

// kGoalMissed when hot tiers leave nothing of the bytes that a goal allows the table; tiers whose
// rows are not counted yet have none.
Status CheckHotBytes(const std::string& table, uint32_t dim, std::span<const HotTier> hot,
                     const std::optional<CodecGoal>& goal);

class TableRecoder {
 public:
  // Both must outlive it.
  TableRecoder(StoreImpl* store, const TableImpl& table, RecodeWork work);

  // Learns and chooses codecs. kGoalMissed when none keeps the goal, kInvalidArgument when the hot
  // tiers leave no rows for the last.
  Status MakeCodecs();
  // After MakeCodecs: whether the table has these codecs already.
  bool unchanged() const;
  // Writes every tier, and keys and order as they are, and stages the hot ones.
  Status Write();

  // After Write: a record as the table's, for what was written, and what a commit takes with it.
  const storage::TableRecord& record() const { return record_; }
  storage::BulkWriter* files() { return &last_->files(); }
  const StoreImpl::StagedTiers& hot() const { return staged_; }
  const std::string& figures() const { return figures_; }  // of a codec that was chosen
  bool dropped_refinement() const { return dropped_refinement_; }

 private:
  struct Target {
    uint64_t first_row = 0;
    uint64_t rows = 0;
    std::unique_ptr<storage::Codec> codec;
  };
  // Rows of a target that stand in one tier of the table, and how they become the target's.
  struct Piece {
    enum class How : uint8_t { kTake, kDropRefinement, kEncode };
    const Tier* from = nullptr;
    uint64_t first_row = 0;
    uint64_t rows = 0;
    How how = How::kEncode;
  };
  Status Step();
  const Tier* KnownBy(const CodecSpec& spec, const Target& target) const;
  Result<std::vector<std::byte>> LearnedFor(const CodecSpec& spec, const Target& target) const;
  Status MakeCodec(const CodecSpec& spec, Target* target);
  Status ChooseCodec(Target* target);
  std::vector<Piece> PiecesOf(const Target& target, const storage::Codec& codec) const;
  Status CheckSpace() const;
  Result<std::unique_ptr<GenerationWriter>> NewGeneration(const Target& target, bool last,
                                                          Compression wish,
                                                          const std::optional<ChunkPlan>& plan);
  Result<std::unique_ptr<GenerationWriter>> WriteTarget(const Target& target, bool last);
  Status WriteRows(const Target& target, GenerationWriter* writer);
  Status ForEachCoded(const Target& target, const storage::Codec& codec, bool with_rows,
                      const CodecChooser::CodedFunction& each) const;
  Status ForEachTaken(const Piece& piece, const storage::Codec& codec, bool with_rows,
                      const CodecChooser::CodedFunction& each) const;
  template <typename Each>
  Status ForEachBatch(uint64_t first_row, uint64_t rows, const Each& each) const;
  Status AtRow(const Status& status, uint64_t row) const;
  Status CopyPages(storage::PageKind kind, uint64_t count, storage::BulkWriter* files);
  storage::TableRecord RecordOf(const Target& target, const GenerationWriter& writer) const;

  StoreImpl* const store_;
  const TableImpl& table_;
  const TableInfo& info_;
  const RecodeWork work_;
  storage::LearnOptions learn_;
  std::vector<Target> targets_;
  std::string figures_;
  bool dropped_refinement_ = false;

  std::unique_ptr<GenerationWriter> last_;
  StoreImpl::StagedTiers staged_;
  storage::TableRecord record_;

  std::mutex mutex_;  // steps are asked from several threads
  uint64_t done_ = 0;
};

}  // namespace edo::engine
