#include "tests/peers/toy_scenario.h"

#include <cstdint>
#include <nlohmann/json.hpp>

namespace windtunnel::peers {

Scenario scenario_of(const PeerCase& row, const Json& file) {
  const ToySizes z = sizes_of(file, file.at("variants").at(row.variant));
  Scenario s;
  s.id = s.name = std::string(row.file) + "/" + row.variant;
  s.model = {.name = "toy",
             .layers = z.layers,
             .hidden = z.hidden,
             .ffn = z.ffn,
             .heads = z.heads,
             .kv_heads = z.kv_heads,
             .head_dim = z.head_dim,
             .vocab = z.vocab,
             .activation = Activation::swiglu,
             .norm = NormKind::rmsnorm,
             .position = PositionKind::rope,
             .bias = false};
  s.model.vocab_padded_to = z.vocab;
  s.cluster.device = "h100";
  s.cluster.devices_per_node = s.cluster.nvlink_domain = file.at("ranks").get<int>();
  s.plan.dp = s.cluster.devices_per_node;
  row.change(s);
  s.batch = {.global = std::int64_t{z.batch} * row.micro_batches * s.plan.dp.value(),
             .micro = z.batch,
             .sequence = z.sequence};
  return s;
}

}  // namespace windtunnel::peers
