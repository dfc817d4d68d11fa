// Section `plan`: degrees, and the parts that are one key or a short mapping.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "scenarios/sections/scalars.h"
#include "scenarios/sections/sections.h"

namespace windtunnel {

namespace {

constexpr std::array<std::string_view, 5> kDimensions = {"tp", "cp", "ep", "dp", "pp"};

std::vector<std::string> split_at_dashes(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == '-') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// "tp-cp-ep-dp-pp", innermost first. A dimension left out has degree 1 (checked with the degrees)
/// and is put last, where its place does not matter.
std::optional<std::vector<std::string>> order(const Reading& reading, const YamlValue& value) {
  const auto fail = [&](const std::string& message) {
    reading.problem(value, message, "dimensions from the innermost, for example tp-cp-ep-dp-pp");
    return std::nullopt;
  };
  if (!value.is_scalar() || value.text().size() > 64) return fail("must be dimensions with dashes");
  std::vector<std::string> dimensions = split_at_dashes(value.text());
  for (const std::string& name : dimensions) {
    if (std::find(kDimensions.begin(), kDimensions.end(), name) == kDimensions.end()) {
      return fail(fmt::format("\"{}\" is not a dimension", name));
    }
    if (std::count(dimensions.begin(), dimensions.end(), name) > 1) {
      return fail(fmt::format("`{}` stands there twice", name));
    }
  }
  for (const std::string_view name : kDimensions) {
    if (std::find(dimensions.begin(), dimensions.end(), name) == dimensions.end()) {
      dimensions.emplace_back(name);
    }
  }
  return dimensions;
}

constexpr Key<Lora> kLoraKeys[] = {
    {"rank", set<&Lora::rank, positive>},
    {"alpha", set<&Lora::alpha, positive>},
    {"modules", set<&Lora::modules, list_of<word<kLoraModuleWords>>>},
};
constexpr Key<Plan> kKernelKeys[] = {
    {"attention", set<&Plan::attention_kernel, word<kAttentionKernelWords>>},
    {"norm", set<&Plan::norm_kernel, word<kNormKernelWords>>},
};
constexpr Key<OverlapPart> kOverlapKeys[] = {
    {"tp", set<&OverlapPart::tp, boolean>},
    {"pp", set<&OverlapPart::pp, boolean>},
    {"cp", set<&OverlapPart::cp, boolean>},
    {"ep", set<&OverlapPart::ep, boolean>},
};
constexpr Key<OffloadPart> kOffloadKeys[] = {
    {"optimizer", set<&OffloadPart::optimizer, fraction>},
    {"params", set<&OffloadPart::params, fraction>},
    {"activations", set<&OffloadPart::activations, fraction>},
    {"overlap", set<&OffloadPart::overlap, boolean>},
};
constexpr Key<Plan> kLogitsKeys[] = {
    {"cross_entropy", set<&Plan::cross_entropy, word<kCrossEntropyWords>>},
    {"fp32", set<&Plan::logits_fp32, boolean>},
};

void read_lora(Reading& reading, const YamlValue& value, Plan& into) {
  into.lora.reset();
  if (is_word(value, "none")) return;
  read_section(reading, value, kLoraKeys, into.lora.emplace());
  require_keys(reading, value, {"rank"}, "{rank: 16, alpha: 32, modules: [attention, mlp]}");
}

template <const auto& table>
void read_own(Reading& reading, const YamlValue& value, Plan& into) {
  read_section(reading, value, table, into);
}
template <auto member, auto read>
void read_part(Reading& reading, const YamlValue& value, Plan& into) {
  read(reading, value, into.*member);
}
template <auto member, const auto& table>
void read_table(Reading& reading, const YamlValue& value, Plan& into) {
  read_section(reading, value, table, into.*member);
}

constexpr Key<Plan> kPlanKeys[] = {
    {"preset", set<&Plan::preset, word<kPresetWords>>},
    {"tp", set<&Plan::tp, degree>},
    {"pp", set<&Plan::pp, degree>},
    {"cp", set<&Plan::cp, degree>},
    {"ep", set<&Plan::ep, degree>},
    {"etp", set<&Plan::etp, degree>},
    {"dp", set_or_auto<&Plan::dp, degree>},
    {"order", set<&Plan::order, order>},
    {"sequence_parallel", set<&Plan::sequence_parallel, boolean>},
    {"cp_kind", set<&Plan::cp_kind, word<kCpWords>>},
    {"schedule", read_part<&Plan::schedule, read_schedule>},
    {"sharding", read_part<&Plan::sharding, read_sharding>},
    {"recompute", read_part<&Plan::recompute, read_recompute>},
    {"precision", read_part<&Plan::precision, read_precision>},
    {"optimizer", set<&Plan::optimizer, word<kOptimizerWords>>},
    {"lora", read_lora},
    {"attention", set<&Plan::attention, word<kAttentionWords>>},
    {"kernels", read_own<kKernelKeys>},
    {"overlap", read_table<&Plan::overlap, kOverlapKeys>},
    {"offload", read_table<&Plan::offload, kOffloadKeys>},
    {"logits", read_own<kLogitsKeys>},
    {"cuda_graphs", set<&Plan::cuda_graphs, boolean>},
    {"compile", set<&Plan::compile, boolean>},
};

}  // namespace

void read_plan(Reading& reading, const YamlValue& value, Plan& into) {
  read_section(reading, value, kPlanKeys, into);
}

std::vector<KeySection> plan_keys() {
  return {{"plan", key_names(kPlanKeys)},
          {"plan.lora", key_names(kLoraKeys)},
          {"plan.kernels", key_names(kKernelKeys)},
          {"plan.overlap", key_names(kOverlapKeys)},
          {"plan.offload", key_names(kOffloadKeys)},
          {"plan.logits", key_names(kLogitsKeys)}};
}

}  // namespace windtunnel
