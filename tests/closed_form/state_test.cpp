// Do the buffers of a lowered program hold the bytes per parameter and the buckets the rules say?
// d is the data-parallel degree.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/architectures/parameters.h"
#include "tests/closed_form/unit_step.h"
#include "tests/models/architectures/oracle.h"

namespace windtunnel::closed_form {
namespace {

bool is_model_state(Category category) {
  return category == Category::weights || category == Category::grads ||
         category == Category::master_weights || category == Category::optimizer_states;
}

/// Static bytes of weights, gradients, master weights and optimizer states.
std::int64_t model_state_bytes(const Role& role) {
  std::int64_t bytes = 0;
  for (const Slot& slot : role.slots) {
    if (slot.space == Space::statics && slot.parent == kNone && is_model_state(slot.category))
      bytes += slot.bytes();
  }
  return bytes;
}

Lowered lowered(int dp, const std::string& model, const std::string& plan) {
  return lower_scenario(scenario_of(fmt::format(R"(id: states
model: {model}
cluster: {{device: unit, devices_per_node: {dp}, nodes: 1, unit: {{layer: {{F: "1 s", B: "2 s"}}}}}}
batch: {{global: {dp}, micro: 1, sequence: 32}}
plan: {{dp: {dp}, {plan}}}
)",
                                                fmt::arg("model", model), fmt::arg("dp", dp),
                                                fmt::arg("plan", plan))));
}

// bf16 weights, fp32 gradients, fp32 master weights and moments, ZeRO-1: 6 + 12 / d bytes (NVIDIA,
// Megatron-Core documentation, distributed optimizer).
TEST(ModelStates, Oracle_O_043_bytes_per_parameter) {
  const std::string plan =
      "preset: megatron, sharding: {kind: zero1}, precision: {compute: bf16, grads: fp32}";
  for (const auto& [dp, expected] : {std::pair{1, 18.0}, {8, 7.5}, {64, 6.1875}}) {
    const Lowered l = lowered(dp, small_model(2), plan);
    const std::int64_t parameters =
        count_parameters(l.resolved.scenario.model, l.resolved.plan.vocab_padded).total();
    ASSERT_EQ(parameters % 64, 0) << "no padding, so the quotient is exact";
    expect_relative(fmt::format("O-043, d {}", dp).c_str(), expected,
                    static_cast<double>(model_state_bytes(l.program.roles[0])) /
                        static_cast<double>(parameters),
                    0.0);
  }
}

// Two copies of the model in opposite directions: stage r has the states of parts r and p - 1 - r,
// and sums the gradients of both with stage p - 1 - r (DeepSeek-V3, 2412.19437, section 3.2).
TEST(ModelStates, DualPipeHoldsTheModelTwice) {
  const auto of_schedule = [](const char* kind) {
    return lower_scenario(scenario_of(fmt::format(
        R"(id: copies
model: {}
cluster: {{device: unit, devices_per_node: 4, nodes: 1, unit: {{layer: {{F: "1 s", B: "2 s"}}}}}}
batch: {{global: 8, micro: 1, sequence: 32}}
plan: {{pp: 4, schedule: {{kind: {}}}}}
)",
        small_model(4), kind)));
  };
  const Lowered one = of_schedule("1f1b"), two = of_schedule("dualpipe");
  for (std::size_t r = 0; r < 4; ++r) {
    const std::vector<Role>&single = one.program.roles, &twice = two.program.roles;
    expect_exact(fmt::format("states of stage {}", r).c_str(),
                 model_state_bytes(single[r]) + model_state_bytes(single[3 - r]),
                 model_state_bytes(twice[r]));
    std::int64_t summed = 0, gradients = 0;
    for (const Call& call : twice[r].calls) {
      for (const Op& op : two.program.ops_of(call)) {
        if (op.kind == OpKind::collective && two.program.comms[op.comm].name.starts_with("copies"))
          summed += op.elements * bytes_of(op.dtype, 1);
      }
    }
    for (const Slot& slot : twice[r].slots) {
      if (slot.category == Category::grads && slot.parent == kNone && slot.space == Space::statics)
        gradients += slot.bytes();
    }
    expect_exact(fmt::format("bytes stage {} sums over both copies", r).c_str(), gradients, summed);
  }
}

/// Elements of the gradient buckets of a role, in order of reduction.
std::vector<std::int64_t> bucket_elements(const Program& program, const Role& role) {
  std::vector<std::int64_t> elements;
  for (const Slot& slot : role.slots) {
    const std::string& name = program.names[slot.name];
    if (slot.parent == kNone && name.starts_with("grads.bucket")) elements.push_back(slot.elements);
  }
  return elements;
}

// max(40e6, 1e6 d) elements, closed by the parameter that reaches it (NVIDIA/Megatron-LM
// core/distributed/distributed_data_parallel.py).
TEST(Buckets, Oracle_O_064_default_bucket) {
  const std::string plan = "preset: megatron, sharding: {kind: zero1, overlap_grad_reduce: true}";
  for (const auto& [dp, expected] : {std::pair{8, 40'000'000LL}, {128, 128'000'000LL}}) {
    const Lowered l = lowered(dp, "llama3-8b", plan);
    expect_exact(fmt::format("O-064 bucket, d {}", dp).c_str(), expected, l.resolved.plan.bucket);
    const std::vector<std::int64_t> buckets = bucket_elements(l.program, l.program.roles[0]);
    const std::int64_t parameters = count_parameters(l.resolved.scenario.model).total();
    std::printf("O-064, d %d: %zu buckets, at most %lld\n", dp, buckets.size(),
                static_cast<long long>(parameters / expected + 1));
    EXPECT_GT(buckets.size(), 1u);
    EXPECT_LE(static_cast<std::int64_t>(buckets.size()), parameters / expected + 1);
    for (std::size_t i = 0; i + 1 < buckets.size(); ++i) EXPECT_GE(buckets[i], expected);
  }
}

TEST(Buckets, Oracle_O_064_one_bucket_without_overlap) {
  const Lowered l = lowered(8, "llama3-8b", "preset: megatron, sharding: {kind: zero1}");
  EXPECT_EQ(bucket_elements(l.program, l.program.roles[0]).size(), 1u);
}

}  // namespace
}  // namespace windtunnel::closed_form
