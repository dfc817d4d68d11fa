#include "scenarios/format_keys.h"

#include "scenarios/device_names.h"
#include "scenarios/words.h"

namespace windtunnel {

namespace {

template <class E, std::size_t N>
KeySection words(std::string key, const Word<E> (&table)[N]) {
  KeySection section{.path = std::move(key), .keys = {}};
  for (const Word<E>& word : table) section.keys.push_back(word.text);
  return section;
}

}  // namespace

std::vector<KeySection> format_sections() {
  std::vector<KeySection> all;
  for (const auto& part : {scenario_keys(), model_keys(), cluster_keys(), unit_keys(), plan_keys(),
                           plan_part_keys(), job_keys(), long_run_keys()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::vector<KeySection> format_words() {
  const auto devices = device_names();
  return {
      {"cluster.device", {devices.begin(), devices.end()}},
      words("cluster.network.kind", kNetworkWords),
      words("model.activation", kActivationWords),
      words("model.norm", kNormWords),
      words("model.position", kPositionWords),
      words("model.layer_pattern", kLayerAttentionWords),
      words("plan.preset", kPresetWords),
      words("plan.cp_kind", kCpWords),
      words("plan.schedule.kind", kScheduleWords),
      words("plan.sharding.kind", kShardingWords),
      words("plan.recompute.kind", kRecomputeWords),
      words("plan.recompute.modules", kRecomputeModuleWords),
      words("plan.lora.modules", kLoraModuleWords),
      words("plan.precision.compute", kComputeWords),
      words("plan.precision.params", kStorageWords),
      words("plan.precision.grads", kStorageWords),
      words("plan.precision.master", kMasterWords),
      words("plan.precision.optimizer_states", kOptimizerStateWords),
      words("plan.precision.fp8_recipe", kScalingWords),
      words("plan.optimizer", kOptimizerWords),
      words("plan.attention", kAttentionWords),
      words("plan.kernels.attention", kAttentionKernelWords),
      words("plan.kernels.norm", kNormKernelWords),
      words("plan.logits.cross_entropy", kCrossEntropyWords),
      words("allocator.kind", kAllocatorWords),
      words("workload.kind", kWorkloadWords),
  };
}

}  // namespace windtunnel
