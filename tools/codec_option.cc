// Bodies of codec_option.h.
#include "tools/codec_option.h"

namespace edo::tools {

Result<CodecOption::Meaning> CodecOption::Resolve() const {
  Meaning meaning;
  const bool has_goal = !goal.quality.empty() || goal.max_bytes;
  if (word == "auto") {
    if (!has_goal) {
      return Status::InvalidArgument(
          "--codec auto needs to know what to keep: --min-cosine, --max-rel-error, --min-overlap "
          "or --max-bytes");
    }
    meaning.choose = goal;
    return meaning;
  }
  if (has_goal) return Status::InvalidArgument("--min-cosine and its like go with --codec auto");
  if (!word.empty()) {
    EDO_ASSIGN_OR_RETURN(meaning.codec, CodecSpec::Parse(word));
  }
  return meaning;
}

}  // namespace edo::tools
