#pragma once
// Defaults of each preset: the table behind docs/presets.md.

#include <span>

#include "plan/frameworks/framework.h"
#include "scenarios/scenario.h"

namespace windtunnel {

struct PresetDefaults {
  Preset preset;
  const char* name;
  ShardingKind sharding;
  const char* order;          // innermost first
  bool fp32_grads_with_fp16;  // gradients of an fp16 run accumulate in fp32
  bool overlap_grad_reduce;
  bool overlap_param_gather;
  bool overlap_pp_interleaved;  // interleaved transfers are asynchronous
  CpKind cp_kind;
  bool overlap_cp;  // keys and values travel around the ring beside attention
  const char* doc;
};

std::span<const PresetDefaults> preset_table();
const PresetDefaults& defaults_of(Preset preset);

/// The attention kernel a stack of this date uses on this device when the scenario does not say.
AttentionKernel default_attention_kernel(const Scenario& scenario, AttentionKind attention);

}  // namespace windtunnel
