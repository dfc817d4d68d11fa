#pragma once
// The way of permuted rows to the ranks that hold their experts, and back.
//
// Out: an all-to-all over the expert group, an all-gather over the tensor parallel ranks that share
// an expert, then each expert's rows from all ranks brought together and, where products are
// narrow, padded to what these take. Back: the reverse, partial sums of tensor parallel ranks added
// up on the way. Rows travel wide whatever their products are: Megatron-LM's all-to-all dispatcher
// is done before experts quantise (core/transformer/moe/token_dispatcher.py, experts.py:
// TEGroupedMLP).

#include <functional>

#include "plan/layer_sizes.h"

namespace windtunnel {

/// Per rank. R permuted rows of its own tokens; G experts held, M rows of each from all sources.
struct ExpertSizes {
  std::int64_t experts, top_k, capacity, parts;
  std::int64_t ring;      // context-parallel ranks whose tokens it has: the one device's of a plan
  std::int64_t held;      // G
  std::int64_t sources;   // ranks whose tokens an expert here gets
  std::int64_t permuted;  // R = E * parts * capacity
  std::int64_t rows;      // G * M
  std::int64_t padded;    // G * M', that products take: M' the next multiple of `aligned`
  std::int64_t ffn, fc1;  // of an expert's part on this rank
  std::int64_t shared;    // width of the shared experts on this rank

  ExpertSizes(const RoleDraft& d, const LayerSizes& z, std::int64_t aligned);
};

/// Drafts what runs while rows travel.
using Beside = std::function<void()>;

class ExpertExchange {
 public:
  ExpertExchange(RoleDraft& draft, const ExpertSizes& sizes) : d_(draft), e_(sizes) {}

  /// (R, width) of this rank's tokens -> (G M', width) of the experts here.
  SlotId to_experts(SlotId x, std::int64_t width, const Beside& beside = {});
  /// (G M', width) -> (R, width).
  SlotId from_experts(SlotId x, std::int64_t width, const Beside& beside = {});

 private:
  SlotId all_to_all(SlotId x, const char* name, const Beside& beside);
  SlotId swapped(SlotId x, const char* name, std::array<std::int64_t, 2> chunks);
  SlotId with_rows(SlotId x, const char* name, std::array<std::int64_t, 2> from_to);

  RoleDraft& d_;
  ExpertSizes e_;
};

}  // namespace windtunnel
