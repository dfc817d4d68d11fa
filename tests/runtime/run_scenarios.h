#pragma once
// Scenarios small enough to be proven by naive kernels, as files a user writes.

#include <string>

namespace windtunnel {

/// GPT, beside what all toys share.
constexpr const char* kToyGpt = "tied_embeddings: true, dropout: true";

/// Four layers of width 16; a plan is one flow mapping, less its precision, and so is `model`.
inline std::string toy_yaml(const std::string& id, int ranks, const std::string& plan,
                            const std::string& model = kToyGpt) {
  return "id: " + id +
         "\n"
         "model: {name: toy, layers: 4, hidden: 16, ffn: 24, heads: 4, vocab: 27,\n"
         "        vocab_padded_to: 32, " +
         model +
         "}\n"
         "cluster: {device: cpu, devices_per_node: " +
         std::to_string(ranks) +
         ", nodes: 1}\n"
         "batch: {global: 16, micro: 1, sequence: 8}\n"
         "plan: {" +
         plan + (plan.empty() ? "" : ", ") + "precision: {compute: fp32}}\n";
}

}  // namespace windtunnel
