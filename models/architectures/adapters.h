#pragma once
// Low-rank adapters of a model's linear layers (LoRA, arXiv:2106.09685): W stays as it is, and
// y = x W^T + (alpha / r) x A^T B^T with A (r, in) and B (out, r) is trained in its place.
//
// Adapted are the linear layers of a layer's attention (qkv, proj), of its MLP (fc1, fc2), or of
// both. Where a stack keeps q, k, v and gate, up as layers of their own, each has an A of its own:
//   parameters of a linear layer = r (parts in + out)      parts: 1, or 3 of qkv, 2 of a gated fc1
// Embedding, head, norms, biases and every W are frozen.

#include "core/units.h"
#include "models/architectures/flops.h"
#include "models/architectures/model.h"

namespace windtunnel {

struct LoraShape {
  std::int64_t rank = 0, alpha = 0;
  bool attention = false, mlp = false;
  bool per_projection = false;  // q, k, v and gate, up have an A each
};

/// Linear layers side by side that one product of the model stands for.
std::int64_t qkv_parts(const LoraShape& lora);
std::int64_t fc1_parts(const LoraShape& lora, const Model& model);

/// Elements of all adapters. Precondition: a dense model without latent attention.
std::int64_t adapter_parameters(const Model& model, const LoraShape& lora);

/// Convention `lora`: training FLOPs of one token,
///   2 (products of layers and head) + 3 (causal half of attention) + 6 (adapter parameters).
/// A frozen product has a forward and an input gradient, 4 P of the 6 P of a trained one.
Flops lora_flops_per_token(const Model& model, const LoraShape& lora, const FlopQuery& query);

}  // namespace windtunnel
