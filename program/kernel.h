#pragma once
// The compute kernels a program may contain, and what each computes.
//
// One row per kernel in `kernel_table()`: the contract that the interpreter, the CPU and CUDA
// devices and the cost models all follow. Operands of an op are listed inputs first, then outputs;
// an output marked `+=` is accumulated into, all others are overwritten. An output may be the same
// slot as an input (in place).
//
// Layout: activations are row-major (rows, columns); row = position * micro + sample ("sequence
// first"), so a sequence-parallel shard is a contiguous range of rows. T rows of this rank, h
// hidden, a query heads, k key/value heads and f feed-forward width *of this rank*, d head dim, V
// vocabulary rows of this rank. A fused qkv row is [q heads | k heads | v heads], a gated MLP row
// [gate | up]. Of experts: E experts, K chosen by each token, a permuted row of h for each expert's
// place, R of them, in the order of the experts (kernels/reference/routing.h).

#include <cstdint>
#include <span>

namespace windtunnel {

enum class Kernel : std::uint8_t {
  none,
  // data
  load_tokens,
  load_labels,
  // embedding
  embedding_fwd,
  embedding_bwd,
  position_fwd,
  position_bwd,
  // norms
  layernorm_fwd,
  layernorm_bwd,
  rmsnorm_fwd,
  rmsnorm_bwd,
  // matrix products
  gemm_fwd,
  gemm_dgrad,
  gemm_wgrad,
  bias_bwd,
  grouped_fwd,
  grouped_dgrad,
  grouped_wgrad,
  // attention
  rope_fwd,
  rope_bwd,
  latent_heads_fwd,
  latent_heads_bwd,
  flash_fwd,
  flash_bwd,
  scores_fwd,
  softmax_fwd,
  context_fwd,
  context_bwd,
  softmax_bwd,
  scores_bwd,
  // attention over several ranks
  flash_block_fwd,
  flash_block_bwd,
  merge_attention,
  columns_to_blocks,
  blocks_to_columns,
  rows_to_sequence,
  sequence_to_rows,
  // elementwise
  activation_fwd,
  activation_bwd,
  dropout_fwd,
  dropout_bwd,
  residual_add,
  dropout_add,
  add,
  cast,
  copy,
  zero,
  scale,
  accumulate,
  pack,
  hand_over,
  amax,
  quantize,
  update_scales,
  // experts
  route_fwd,
  route_bwd,
  permute_fwd,
  permute_bwd,
  unpermute_fwd,
  unpermute_bwd,
  spread_fwd,
  spread_bwd,
  weighted_activation_fwd,
  weighted_activation_bwd,
  swap_chunks,
  pad_groups,
  // loss
  ce_max,
  ce_partial,
  ce_loss,
  ce_bwd,
  ce_sums,
  ce_grad,
  // optimizer
  sum_squares,
  clip_coefficient,
  start_loss_scale,
  unscale,
  update_loss_scale,
  adamw,
  sgd,
  // between device and host memory
  to_host,
  to_device,
  // host-side work with no device kernel
  host_work,
  count
};

/// What bounds a kernel: the class its cost model and its uncertainty belong to.
/// `link`: the connection of device and host.
enum class KernelClass : std::uint8_t { gemm, attention, memory, link, host, none };

struct KernelRow {
  Kernel kernel;
  const char* name;
  KernelClass cls;
  const char* operands;  // "inputs -> outputs" with shapes
  const char* dims;      // meaning of Shape::dims
  const char* doc;
};

std::span<const KernelRow> kernel_table();
const KernelRow& row_of(Kernel kernel);
inline const char* name_of(Kernel kernel) {
  return row_of(kernel).name;
}

/// Shape::attr bits.
enum ShapeAttr : std::uint16_t {
  kAttrNone = 0,
  kAccumulate = 1 << 0,     // gemm_wgrad: dW += instead of =
  kSequenceShard = 1 << 1,  // rows are this tp rank's contiguous part of the micro-batch's rows
  kHasBias =
      1 << 2,  // gemm_fwd, residual_add, dropout_add: a bias(columns) operand is the last input
  kCausal = 1 << 3,
  kAlibi = 1 << 4,             // softmax_fwd and flash_*: adds -slope(global head) * (q - k)
  kAttentionDropout = 1 << 5,  // dropout_*: rows are (sample, head, query), columns keys
  kFused = 1 << 6,             // a fused implementation (norm, softmax, bias+activation, optimizer)
  kOverwrite = 1 << 7,         // *_bwd of norms, biases; flash_block_bwd: gradients = instead of +=
  kContinues = 1 << 8,         // part of the kernel before: no launch and no fixed time of its own
  kHeadShard =
      1 << 9,  // attention: heads are this cp rank's part of the tp rank's (Mesh::cp_heads)
  kWholeKeys = 1 << 10,  // flash_block_*: keys and values of the whole sequence, in its order
  kSigmoid = 1 << 11,    // route_*: sigmoid scores, normalised over the chosen; else their softmax
  kHashed = 1 << 12,     // route_fwd: experts by hash, not evenly
  kOnHost = 1 << 13,     // runs on the host's processors, in the host's memory
  kInputGradOnly = 1 << 14,  // *_bwd of norms: the parameters are frozen, dx alone
};

}  // namespace windtunnel
