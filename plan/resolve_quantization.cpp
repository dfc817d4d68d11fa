#include "plan/resolve_quantization.h"

#include <string>

namespace windtunnel {

namespace {

/// The type a recipe multiplies in.
Dtype type_of(ScalingRecipe recipe) {
  switch (recipe) {
    case ScalingRecipe::mxfp8:
      return Dtype::mxfp8;
    case ScalingRecipe::nvfp4:
      return Dtype::nvfp4;
    default:
      return Dtype::fp8;
  }
}

ScalingRecipe recipe_of(Dtype compute, const FrameworkRules& rules) {
  if (compute == Dtype::mxfp8) return ScalingRecipe::mxfp8;
  if (compute == Dtype::nvfp4) return ScalingRecipe::nvfp4;
  return rules.quantized.fp8_recipe;
}

/// Ada and Hopper multiply 8-bit operands only when both run along the inner dimension (cuBLAS
/// documentation, narrow precisions usage: the TN format); later chips take any layout.
bool needs_inner_layout(const std::string& device) {
  for (const char* prefix : {"h1", "h2", "h8", "gh", "l40", "rtx4090"}) {
    if (device.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

}  // namespace

void resolve_quantization(const Scenario& s, const FrameworkRules& rules, Resolver& r,
                          ResolvedPlan& p) {
  const auto& asked = s.plan.precision.fp8_recipe;
  if (!p.quantizes()) {
    if (asked)
      r.error("plan.precision.fp8_recipe",
              "a recipe scales 8-bit and 4-bit products, and compute is " +
                  std::string(name_of(p.compute)),
              "compute: fp8, or leave fp8_recipe out");
    return;
  }
  p.scaling = r.take("plan.precision.fp8_recipe", asked, recipe_of(p.compute, rules),
                     "framework rule " + rules.name);
  // `compute: fp8` with a recipe of its own type means that type.
  if (p.compute == Dtype::fp8) p.compute = type_of(p.scaling);
  if (type_of(p.scaling) != p.compute)
    r.error("plan.precision.fp8_recipe",
            value_name(p.scaling) + " scales " + name_of(type_of(p.scaling)) +
                " products, and compute is " + name_of(p.compute),
            std::string("compute: ") + name_of(type_of(p.scaling)));
  // Blocks along the inner dimension are other blocks in the other layout.
  const bool inner_blocks = p.scaling == ScalingRecipe::blockwise ||
                            p.scaling == ScalingRecipe::mxfp8 || p.scaling == ScalingRecipe::nvfp4;
  p.transposed_operands =
      inner_blocks || rules.quantized.always_transposes || needs_inner_layout(s.cluster.device);
}

}  // namespace windtunnel
