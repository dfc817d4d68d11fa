#include "scenarios/not_built.h"

#include <fmt/format.h>

#include <string>

#include "scenarios/scenario_place.h"
#include "scenarios/words.h"

namespace windtunnel {

namespace {

/// A key and the text of its value when the scenario uses a part of it that is not built.
struct Rule {
  const char* key;
  std::optional<std::string> (*value_in_use)(const Scenario&);
  const char* hint;
};

using Used = std::optional<std::string>;

template <class E, std::size_t N>
Used one_of(const std::optional<E>& value, std::initializer_list<E> unbuilt,
            const Word<E> (&words)[N]) {
  for (const E candidate : unbuilt) {
    if (value == candidate) return std::string(word_of(words, candidate));
  }
  return std::nullopt;
}

Used unbuilt_dtype(const std::optional<Dtype>& dtype) {
  return one_of(dtype, {Dtype::fp8, Dtype::mxfp8, Dtype::nvfp4}, kComputeWords);
}

/// Weights wider than the 16 bits they are multiplied in are cast before use: sharded weights are
/// when they are gathered, whole ones are not yet.
Used unbuilt_params(const Scenario& s) {
  using K = ShardingKind;
  const bool fsdp = s.plan.preset == Preset::fsdp1 || s.plan.preset == Preset::fsdp2;
  const K kind = s.plan.sharding.kind.value_or(fsdp ? K::fsdp : K::none);
  if (cuts_weights(kind)) return unbuilt_dtype(s.plan.precision.params);
  const auto params = s.plan.precision.params;
  const Dtype compute = s.plan.precision.compute.value_or(Dtype::bf16);
  const bool wider = params && bits_of(compute) == 16 && bits_of(*params) > 16;
  return wider ? Used(word_of(kStorageWords, *params)) : unbuilt_dtype(params);
}

Used given(bool in_use, const char* text) {
  return in_use ? Used(text) : std::nullopt;
}

constexpr Rule kRules[] = {
    {"plan.precision.params", unbuilt_params,
     "params of the compute type are; 8-bit products quantise bf16 or fp32 weights"},
    {"plan.precision.grads",
     [](const Scenario& s) { return unbuilt_dtype(s.plan.precision.grads); },
     "fp32, bf16 and fp16 are; 8-bit products have gradients of 16 bits or more"},
    {"plan.precision.optimizer_states",
     [](const Scenario& s) { return unbuilt_dtype(s.plan.precision.optimizer_states); },
     "fp32, bf16 and fp16 are"},
    {"plan.optimizer",
     [](const Scenario& s) {
       return one_of(s.plan.optimizer, {OptimizerKind::muon}, kOptimizerWords);
     },
     "adamw, sgd and adam8bit are; muon's products need whole matrices, which buckets cut"},
    {"workload.kind", [](const Scenario& s) { return given(s.workload.inference, "inference"); },
     "kind: training"},
};

}  // namespace

std::vector<Diagnostic> keys_not_built(const Scenario& scenario) {
  std::vector<Diagnostic> found;
  for (const Rule& rule : kRules) {
    if (const Used value = rule.value_in_use(scenario)) {
      found.push_back(diagnostic_at(scenario, rule.key,
                                    fmt::format("`{}`: {} is not built yet", rule.key, *value),
                                    rule.hint));
    }
  }
  return found;
}

}  // namespace windtunnel
