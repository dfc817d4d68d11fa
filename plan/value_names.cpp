#include "plan/value_names.h"

#include <fmt/format.h>

namespace windtunnel {

std::string value_name(int v) {
  return std::to_string(v);
}
std::string value_name(std::int64_t v) {
  return std::to_string(v);
}
std::string value_name(bool v) {
  return v ? "true" : "false";
}
std::string value_name(double v) {
  return fmt::format("{}", v);
}
std::string value_name(const std::string& v) {
  return v;
}
std::string value_name(Dtype v) {
  return name_of(v);
}

std::string value_name(ScheduleKind v) {
  constexpr const char* kNames[] = {"gpipe", "1f1b", "interleaved_1f1b", "bfs",       "zb_h1",
                                    "zb_h2", "zb_v", "dualpipe",         "dualpipe_v"};
  return kNames[static_cast<int>(v)];
}
std::string value_name(ShardingKind v) {
  constexpr const char* kNames[] = {"none", "zero1", "zero2", "zero3", "fsdp", "hsdp"};
  return kNames[static_cast<int>(v)];
}
std::string value_name(RecomputeKind v) {
  constexpr const char* kNames[] = {"none", "selective", "full"};
  return kNames[static_cast<int>(v)];
}
std::string value_name(RecomputeModule v) {
  constexpr const char* kNames[] = {"core_attention", "attention",      "mlp",
                                    "norm",           "activation",     "moe",
                                    "moe_activation", "shared_experts", "mla_up_proj"};
  return kNames[static_cast<int>(v)];
}
std::string value_name(LoraModule v) {
  return v == LoraModule::attention ? "attention" : "mlp";
}
std::string value_name(const RecomputeLayers& v) {
  switch (v.kind) {
    case RecomputeLayers::Kind::all:
      return "all";
    case RecomputeLayers::Kind::first:
      return std::to_string(v.n);
    case RecomputeLayers::Kind::every:
      return "every " + std::to_string(v.n);
  }
  return "?";
}
std::string value_name(OptimizerKind v) {
  constexpr const char* kNames[] = {"adamw", "sgd", "adam8bit", "muon"};
  return kNames[static_cast<int>(v)];
}
std::string value_name(ScalingRecipe v) {
  constexpr const char* kNames[] = {"none", "delayed", "tensorwise", "blockwise", "mxfp8", "nvfp4"};
  return kNames[static_cast<int>(v)];
}
std::string value_name(CpKind v) {
  constexpr const char* kNames[] = {"ring", "all_gather", "ulysses", "ulysses+ring"};
  return kNames[static_cast<int>(v)];
}
std::string value_name(AttentionKind v) {
  return v == AttentionKind::flash ? "flash" : "unfused";
}
std::string value_name(AttentionKernel v) {
  constexpr const char* kNames[] = {"flash1", "flash2", "flash3", "cudnn", "fused", "torch"};
  return kNames[static_cast<int>(v)];
}
std::string value_name(NormKernel v) {
  return v == NormKernel::fused ? "fused" : "eager";
}
std::string value_name(CrossEntropyKind v) {
  constexpr const char* kNames[] = {"plain", "fused", "chunked"};
  return kNames[static_cast<int>(v)];
}

}  // namespace windtunnel
