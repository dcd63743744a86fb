// --codec of the verbs that store rows: a codec by name, or `auto` with what it must keep.
#pragma once

#include <optional>
#include <string>

#include "edo/codec_goal.h"
#include "edo/codec_spec.h"
#include "edo/status.h"

namespace edo::tools {

struct CodecOption {
  std::string word;  // as given; empty: not given
  CodecGoal goal;    // of Verb::AddGoal

  struct Meaning {
    std::optional<CodecSpec> codec;  // neither: --codec was not given
    std::optional<CodecGoal> choose;
  };
  // kInvalidArgument: an unknown codec, `auto` without a goal, a goal without `auto`.
  Result<Meaning> Resolve() const;
};

}  // namespace edo::tools
