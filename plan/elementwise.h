#pragma once
// The memory-bound parts of a layer: norms, activations, and the residual additions with bias and
// dropout.

#include "plan/layer_sizes.h"
#include "plan/parameters.h"

namespace windtunnel {

struct NormInput {
  SlotId input = kNone;  // (rows, h)
  ParameterId weight = 0, bias = 0;
  std::string_view name;
  std::int64_t width = 0;      // of what is RMS-normed, a latent or a head; 0: the hidden state
  bool input_on_chip = false;  // a compiled kernel that made its input goes on to it
  bool quantizes = false;      // its kernel goes on to quantise its output, and writes that alone
};
struct NormResult {
  SlotId output = kNone, stats = kNone;
  SlotId normalized = kNone;  // kept by an unfused norm, else kNone
};
NormResult norm_forward(RoleDraft& d, ChunkParameters& p, const NormInput& in);

struct NormGradInput {
  SlotId output_grad = kNone, input = kNone, stats = kNone, normalized = kNone;
  SlotId residual_grad = kNone;  // added to the input's gradient; kNone: nothing to add
  ParameterId weight = 0, bias = 0;
  std::int64_t width = 0;  // as in NormInput
};
/// Gradient of the norm's input, with the residual branch's gradient added.
SlotId norm_backward(RoleDraft& d, ChunkParameters& p, const NormGradInput& in);

struct ResidualInput {
  SlotId input = kNone, residual = kNone;  // (rows, h)
  ParameterId bias = 0;
  int site = 0;  // which dropout of the layer
  std::string_view name;
};
struct ResidualResult {
  SlotId output = kNone, mask = kNone;
};
/// output = dropout(input + bias) + residual.
ResidualResult residual_forward(RoleDraft& d, ChunkParameters& p, const ResidualInput& in);

struct ResidualGradInput {
  SlotId output_grad = kNone, mask = kNone;
  ParameterId bias = 0;
  int site = 0;
};
/// Gradient of the branch that was added: the output's own gradient without dropout.
SlotId residual_backward(RoleDraft& d, ChunkParameters& p, const ResidualGradInput& in);

/// Traffic of a rotary kernel beyond reading and writing all of qkv: a compiled one leaves v alone.
std::int64_t rope_traffic(const RoleDraft& d, const LayerSizes& z);

struct ActivationResult {
  SlotId output = kNone;  // (T, f)
  SlotId silu = kNone;    // kept by an unfused SwiGLU, else kNone
};
ActivationResult activation_forward(RoleDraft& d, const LayerSizes& z, SlotId fc1);

struct ActivationGradInput {
  SlotId output_grad = kNone, fc1 = kNone, silu = kNone;
};
SlotId activation_backward(RoleDraft& d, const LayerSizes& z, const ActivationGradInput& in);

}  // namespace windtunnel
