#pragma once
// Scenarios small enough to be proven by naive kernels, as files a user writes.

#include <string>

namespace windtunnel {

/// Four layers of width 16; a plan is one flow mapping, less its precision.
inline std::string toy_yaml(const std::string& id, int ranks, const std::string& plan) {
  return "id: " + id +
         "\n"
         "model: {name: toy, layers: 4, hidden: 16, ffn: 24, heads: 4, vocab: 27,\n"
         "        vocab_padded_to: 32, tied_embeddings: true, dropout: true}\n"
         "cluster: {device: cpu, devices_per_node: " +
         std::to_string(ranks) +
         ", nodes: 1}\n"
         "batch: {global: 16, micro: 1, sequence: 8}\n"
         "plan: {" +
         plan + (plan.empty() ? "" : ", ") + "precision: {compute: fp32}}\n";
}

}  // namespace windtunnel
