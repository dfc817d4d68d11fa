// Sections `plan.schedule`, `plan.sharding`, `plan.recompute` and `plan.precision`.

#include <fmt/format.h>

#include <charconv>

#include "scenarios/sections/scalars.h"
#include "scenarios/sections/sections.h"

namespace windtunnel {

namespace {

/// Layers of one chunk; zero is allowed.
std::optional<int> layer_count(const Reading& reading, const YamlValue& value) {
  return index_number(reading, value);
}

constexpr Key<SchedulePart> kScheduleKeys[] = {
    {"kind", set<&SchedulePart::kind, word<kScheduleWords>>},
    {"virtual_stages", set<&SchedulePart::virtual_stages, degree>},
    {"layers_per_stage", set_or_auto<&SchedulePart::layers_per_stage, list_of<layer_count>>},
    {"micro_batch_group", set_or_auto<&SchedulePart::micro_batch_group, degree>},
};

/// true, false, or the number of devices over which parameters stay sharded after the forward pass.
std::optional<std::int64_t> reshard(const Reading& reading, const YamlValue& value) {
  const std::string_view text = value.text();
  const bool digits = !text.empty() && text.front() >= '0' && text.front() <= '9';
  if (value.is_scalar() && digits) return whole_number(reading, value, 2, kMaxDegree);
  const auto parsed = boolean(reading, value);
  return parsed ? std::optional<std::int64_t>(*parsed ? 1 : 0) : std::nullopt;
}

constexpr Key<ShardingPart> kShardingKeys[] = {
    {"kind", set<&ShardingPart::kind, word<kShardingWords>>},
    {"shard_degree", set_or_auto<&ShardingPart::shard_degree, degree>},
    {"reshard_after_forward", set<&ShardingPart::reshard_after_forward, reshard>},
    {"overlap_grad_reduce", set<&ShardingPart::overlap_grad_reduce, boolean>},
    {"overlap_param_gather", set<&ShardingPart::overlap_param_gather, boolean>},
    {"bucket", set_or_auto<&ShardingPart::bucket, positive>},
    {"prefetch", set_or_auto<&ShardingPart::prefetch, not_negative>},
    {"separate_reduce_group", set<&ShardingPart::separate_reduce_group, boolean>},
};

/// all | N | every N
std::optional<RecomputeLayers> recompute_layers(const Reading& reading, const YamlValue& value) {
  using Kind = RecomputeLayers::Kind;
  if (is_word(value, "all")) return RecomputeLayers{.kind = Kind::all, .n = 0};
  std::string_view text = value.text();
  constexpr std::string_view kEvery = "every ";
  const Kind kind = text.starts_with(kEvery) ? Kind::every : Kind::first;
  if (kind == Kind::every) text.remove_prefix(kEvery.size());
  const std::int64_t low = kind == Kind::every ? 1 : 0;
  std::int64_t n = 0;
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), n);
  const bool whole = status == std::errc{} && rest == text.data() + text.size();
  if (value.is_scalar() && whole && n >= low && n <= kMaxDegree) {
    return RecomputeLayers{.kind = kind, .n = n};
  }
  reading.problem(value, fmt::format("{} does not say which layers", value.described()),
                  "all, a number (the first N of each stage), or every N");
  return std::nullopt;
}

constexpr Key<RecomputePart> kRecomputeKeys[] = {
    {"kind", set<&RecomputePart::kind, word<kRecomputeWords>>},
    {"modules", set<&RecomputePart::modules, list_of<word<kRecomputeModuleWords>>>},
    {"layers", set<&RecomputePart::layers, recompute_layers>},
};

constexpr Key<PrecisionPart> kPrecisionKeys[] = {
    {"compute", set<&PrecisionPart::compute, word<kComputeWords>>},
    {"params", set<&PrecisionPart::params, word<kStorageWords>>},
    {"grads", set<&PrecisionPart::grads, word<kStorageWords>>},
    {"master", set<&PrecisionPart::master, word<kMasterWords>>},
    {"optimizer_states", set<&PrecisionPart::optimizer_states, word<kOptimizerStateWords>>},
    {"fp8_recipe", set_or_auto<&PrecisionPart::fp8_recipe, word<kScalingWords>>},
    {"loss_scaling", set_or_auto<&PrecisionPart::loss_scaling, boolean>},
};

}  // namespace

void read_schedule(Reading& reading, const YamlValue& value, SchedulePart& into) {
  read_section(reading, value, kScheduleKeys, into);
}
void read_sharding(Reading& reading, const YamlValue& value, ShardingPart& into) {
  read_section(reading, value, kShardingKeys, into);
}
void read_recompute(Reading& reading, const YamlValue& value, RecomputePart& into) {
  read_section(reading, value, kRecomputeKeys, into);
}
void read_precision(Reading& reading, const YamlValue& value, PrecisionPart& into) {
  read_section(reading, value, kPrecisionKeys, into);
}

std::vector<KeySection> plan_part_keys() {
  return {{"plan.schedule", key_names(kScheduleKeys)},
          {"plan.sharding", key_names(kShardingKeys)},
          {"plan.recompute", key_names(kRecomputeKeys)},
          {"plan.precision", key_names(kPrecisionKeys)}};
}

}  // namespace windtunnel
