#pragma once
// The YAML spelling of resolved values, for `plan --resolved` and the report.

#include <string>
#include <vector>

#include "core/dtype.h"
#include "scenarios/scenario.h"

namespace windtunnel {

std::string value_name(int v);
std::string value_name(std::int64_t v);
std::string value_name(bool v);
std::string value_name(double v);
std::string value_name(const std::string& v);
std::string value_name(Dtype v);
std::string value_name(ScheduleKind v);
std::string value_name(ShardingKind v);
std::string value_name(RecomputeKind v);
std::string value_name(RecomputeModule v);
std::string value_name(LoraModule v);
std::string value_name(const RecomputeLayers& v);
std::string value_name(OptimizerKind v);
std::string value_name(ScalingRecipe v);
std::string value_name(CpKind v);
std::string value_name(AttentionKind v);
std::string value_name(AttentionKernel v);
std::string value_name(NormKernel v);
std::string value_name(CrossEntropyKind v);

template <class T>
std::string value_name(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& v : values) text += (text.size() > 1 ? ", " : "") + value_name(v);
  return text + "]";
}

}  // namespace windtunnel
