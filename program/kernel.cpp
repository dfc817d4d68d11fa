#include "program/kernel.h"

#include <array>

#include "core/check.h"

namespace windtunnel {

namespace {

using enum KernelClass;
using K = Kernel;

constexpr std::array kRows = {
    KernelRow{K::none, "none", none, "", "", ""},
    KernelRow{K::load_tokens, "load_tokens", memory, "-> tokens(T)", "T, micro, depth",
              "input tokens of this micro-batch, a function of (seed, global sample, position + "
              "depth)"},
    KernelRow{K::load_labels, "load_labels", memory, "-> labels(T)", "T, micro, depth",
              "labels: the token at position + depth + 1"},
    KernelRow{K::embedding_fwd, "embedding_fwd", memory, "tokens(T), W(V,h) -> y(T,h)", "T, h, V",
              "y[r] = W[token] when this rank owns the row, else 0"},
    KernelRow{K::embedding_bwd, "embedding_bwd", memory, "tokens(T), dy(T,h) -> dW(V,h) +=",
              "T, h, V", "scatter-add of dy rows this rank owns"},
    KernelRow{K::position_fwd, "position_fwd", memory, "x(T,h), P(s,h) -> y(T,h)", "T, h, micro",
              "y[r] = x[r] + P[position(r)]"},
    KernelRow{K::position_bwd, "position_bwd", memory, "dy(T,h) -> dP(s,h) +=", "T, h, micro",
              "dP[position(r)] += dy[r]"},
    KernelRow{K::layernorm_fwd, "layernorm_fwd", memory,
              "x(T,h), gamma(h), beta(h) -> y(T,h), stats(2,T)", "T, h", "eps 1e-5"},
    KernelRow{K::layernorm_bwd, "layernorm_bwd", memory,
              "dy(T,h), x(T,h), gamma(h), stats(2,T) -> dx(T,h) [, dgamma(h) +=, dbeta(h) +=]",
              "T, h", "kInputGradOnly: dx alone"},
    KernelRow{K::rmsnorm_fwd, "rmsnorm_fwd", memory, "x(T,h), gamma(h) -> y(T,h), stats(T)", "T, h",
              "eps 1e-5"},
    KernelRow{K::rmsnorm_bwd, "rmsnorm_bwd", memory,
              "dy(T,h), x(T,h), gamma(h), stats(T) -> dx(T,h) [, dgamma(h) +=]", "T, h",
              "kInputGradOnly: dx alone"},
    KernelRow{K::gemm_fwd, "gemm_fwd", gemm, "A(M,K), W(N,K) [, bias(N)] -> C(M,N)",
              "M, N, K, -, -, turns",
              "C = A W^T [+ bias]; 2MNK FLOP; turns > 1: one of so many on streams in turn"},
    KernelRow{
        K::gemm_dgrad, "gemm_dgrad", gemm, "dC(M,N), W(N,K) -> dA(M,K)",
        "M, N, K, offset, row, turns",
        "dA = dC W; 2MNK FLOP; with row > 0 dC has row columns and N from offset on are read"},
    KernelRow{K::gemm_wgrad, "gemm_wgrad", gemm, "dC(M,N), A(M,K) -> dW(N,K) [+=]", "M, N, K",
              "dW = dC^T A, accumulated with kAccumulate; 2MNK FLOP"},
    KernelRow{K::bias_bwd, "bias_bwd", memory, "dC(M,N) -> dbias(N) +=", "M, N", "column sums"},
    KernelRow{K::grouped_fwd, "grouped_fwd", gemm, "A(G M,K), W(G N,K) -> C(G M,N)", "M, N, K, G",
              "gemm_fwd of G experts, each with its M rows; 2GMNK FLOP"},
    KernelRow{K::grouped_dgrad, "grouped_dgrad", gemm, "dC(G M,N), W(G N,K) -> dA(G M,K)",
              "M, N, K, G", "gemm_dgrad of each"},
    KernelRow{K::grouped_wgrad, "grouped_wgrad", gemm, "dC(G M,N), A(G M,K) -> dW(G N,K) [+=]",
              "M, N, K, G", "gemm_wgrad of each"},
    KernelRow{K::rope_fwd, "rope_fwd", memory, "qkv(T,(a+2k)d) -> qkv in place",
              "T, a, k, d, micro", "rotates q and k by the global position of the row"},
    KernelRow{K::rope_bwd, "rope_bwd", memory, "dqkv(T,(a+2k)d) -> dqkv in place",
              "T, a, k, d, micro", "the transposed rotation"},
    KernelRow{K::latent_heads_fwd, "latent_heads_fwd", memory,
              "q(T,a(n+r)), kv(T,a(n+v)), k_rope(T,r) -> qkv(T,a(2(n+r)+v))",
              "T, a, n, r, v, micro",
              "latent attention: rotates the r columns, gives every head the shared key's"},
    KernelRow{K::latent_heads_bwd, "latent_heads_bwd", memory,
              "dqkv(T,a(2(n+r)+v)) -> dq(T,a(n+r)), dkv(T,a(n+v)), dk_rope(T,r)",
              "T, a, n, r, v, micro", "dk_rope: the sum over this rank's heads"},
    KernelRow{
        K::flash_fwd, "flash_fwd", attention, "qkv(T,(a+k)d+k dv) -> out(T,a dv), lse(T a)",
        "micro, s, a, k, d, dv or 0: d, window or 0",
        "softmax(q k^T / sqrt(d)) v per head, causal; 2 micro a s^2 (d+dv) FLOP, half when causal; "
        "with a window a query sees the nearest keys alone"},
    KernelRow{K::flash_bwd, "flash_bwd", attention,
              "dout(T,a dv), qkv(T,(a+k)d+k dv), out(T,a dv), lse(T a) -> dqkv(T,(a+k)d+k dv)",
              "micro, s, a, k, d, dv or 0: d, window or 0",
              "5 matrix products against the forward's 2: 2.5x its FLOP"},
    KernelRow{K::scores_fwd, "scores_fwd", gemm, "qkv(T,(a+2k)d) -> S(micro a, s, s)",
              "micro, s, a, k, d", "batched q k^T / sqrt(d), not masked; 2 micro a s^2 d FLOP"},
    KernelRow{K::softmax_fwd, "softmax_fwd", memory, "S(micro a, s, s) -> P, may be in place",
              "micro, s, a, window or 0",
              "masks keys of the future and beyond the window, adds alibi, softmax over keys"},
    KernelRow{K::context_fwd, "context_fwd", gemm, "P(micro a, s, s), qkv(T,(a+2k)d) -> out(T,a d)",
              "micro, s, a, k, d", "batched P v"},
    KernelRow{K::context_bwd, "context_bwd", gemm,
              "dout(T,a d), P(micro a, s, s), qkv(T,(a+2k)d) -> dP(micro a, s, s), dqkv(T,(a+2k)d) "
              "[v part]",
              "micro, s, a, k, d", "4 micro a s^2 d FLOP; overwrites only the v columns of dqkv"},
    KernelRow{K::softmax_bwd, "softmax_bwd", memory,
              "dP(micro a, s, s), P(micro a, s, s) -> dS, may be in place",
              "micro, s, a, window or 0", "dS = P (dP - sum(P dP)), masked"},
    KernelRow{K::scores_bwd, "scores_bwd", gemm,
              "dS(micro a, s, s), qkv(T,(a+2k)d) -> dqkv(T,(a+2k)d) [q and k parts]",
              "micro, s, a, k, d",
              "4 micro a s^2 d FLOP; overwrites only the q and k columns of dqkv"},
    KernelRow{K::flash_block_fwd, "flash_block_fwd", attention,
              "qkv(T,(a+2k)d), kv(T',2kd) -> out(T,a d), lse(T a)",
              "micro, s, a, k, d, step or s', dv",
              "attention of this rank's s positions over those of the rank `step` before it in the "
              "ring, causal by global position: all of itself, half of the others"},
    KernelRow{K::flash_block_bwd, "flash_block_bwd", attention,
              "dout(T,a d), qkv(T,(a+2k)d), kv(T',2kd), out(T,a d), lse(T a) -> dq(T,a d) +=, "
              "dkv(T',2kd)",
              "micro, s, a, k, d, step or s', dv", "out and lse of the whole softmax"},
    KernelRow{K::merge_attention, "merge_attention", memory,
              "part(T,a d), part_lse(T a) -> out(T,a d) +=, lse(T a) +=", "T, a, d",
              "the softmax over both parts' keys, by their log(sum(exp))"},
    KernelRow{
        K::columns_to_blocks, "columns_to_blocks", memory, "x(T,W) -> y(n,T,C/n)",
        "T, W, C, offset, n, s",
        "parts of columns [offset, offset + C), one after the other; offset grows by s times the "
        "rank's place in its tp group"},
    KernelRow{K::blocks_to_columns, "blocks_to_columns", memory,
              "x1(n,T,C1/n) [, x2 ..] -> y(T,C1 [+ C2 ..])", "T, W, n", "its inverse, joined"},
    KernelRow{K::rows_to_sequence, "rows_to_sequence", memory,
              "x1(n,T,C1) [, x2 ..] -> y(n T,C1 [+ C2 ..])", "T, W, n",
              "n members' mirrored chunks in the order of the sequence, columns joined"},
    KernelRow{K::sequence_to_rows, "sequence_to_rows", memory, "x(n T,W) -> y(n,T,C)",
              "T, W, C, offset, n", "its inverse, of columns [offset, offset + C)"},
    KernelRow{K::activation_fwd, "activation_fwd", memory, "x(T,f) or x(T,2f) -> y(T,f)",
              "T, f, activation", "gelu (tanh form), relu2; swiglu, geglu of [gate | up]"},
    KernelRow{K::activation_bwd, "activation_bwd", memory,
              "dy(T,f), x(T,f) or x(T,2f) -> dx like x", "T, f, activation", ""},
    KernelRow{K::dropout_fwd, "dropout_fwd", memory, "x(R,C) -> y(R,C), mask(R,C)",
              "R, C, site, micro, s, a",
              "counter-based mask of (seed, step, layer, site, global element)"},
    KernelRow{K::dropout_bwd, "dropout_bwd", memory, "dy(R,C), mask(R,C) -> dx(R,C)",
              "R, C, site, micro, s, a", ""},
    KernelRow{K::residual_add, "residual_add", memory,
              "x(T,h), residual(T,h) [, bias(h)] -> y(T,h)", "T, h", ""},
    KernelRow{K::dropout_add, "dropout_add", memory,
              "x(T,h), residual(T,h) [, bias(h)] -> y(T,h), mask(T,h)", "T, h, site, micro",
              "y = dropout(x + bias) + residual"},
    KernelRow{K::add, "add", memory, "x(n), y(n) -> z(n)", "n", "may be in place"},
    KernelRow{K::cast, "cast", memory, "x(n) -> y(n)", "n", "change of element type"},
    KernelRow{K::copy, "copy", memory, "x(n) -> y(n)", "n", ""},
    KernelRow{K::zero, "zero", memory, "-> x(n)", "n", ""},
    KernelRow{K::scale, "scale", memory, "x(n) -> y(n), may be in place", "n, k, m or 0: 1",
              "y = x m / k"},
    KernelRow{K::accumulate, "accumulate", memory, "x(n) -> y(n) +=", "n", ""},
    KernelRow{K::pack, "pack", memory, "x1(n1) [, x2(n2) ..] -> y(n)", "n",
              "one after the other; what is left of y is 0"},
    KernelRow{K::hand_over, "hand_over", none, "x(n) -> y(n)", "n",
              "y is x: between chunks of one rank a tensor is passed on, at no cost"},
    KernelRow{K::amax, "amax", memory, "x(n) -> amax(a)", "n, a",
              "the largest magnitude of each of a equal parts"},
    KernelRow{K::quantize, "quantize", memory,
              "x(n) [, amax(a)] -> q(n) [, t(n)] [, scales(s) of each] [, amax(a)]",
              "n, copies, s, a or 0",
              "change to a narrow type; t holds q's numbers in the other layout, in the order of q "
              "where numbers are exact"},
    KernelRow{K::update_scales, "update_scales", memory, "amax(n) -> scales(n)", "n",
              "scales of the next pass from the amaxes of this one and their history"},
    KernelRow{
        K::route_fwd, "route_fwd", memory, "logits(T,E) -> probs(T,K), rows(T,K), counts(P,E)",
        "T, E, K, C, P, R",
        "chooses K experts for each token; rows: the permuted row of each choice; counts: rows "
        "in use of each expert, from each of P parts of the tokens, at most C; R: "
        "context-parallel ranks whose tokens these are, where more than one"},
    KernelRow{K::route_bwd, "route_bwd", memory,
              "dprobs(T,K), logits(T,E), rows(T,K) -> dlogits(T,E)", "T, E, K, C, P",
              "through the probabilities of the chosen"},
    KernelRow{K::permute_fwd, "permute_fwd", memory, "x(T,h), rows(T,K) -> y(R,h)", "T, h, K, R",
              "y[rows[t,k]] = x[t], other rows 0"},
    KernelRow{K::permute_bwd, "permute_bwd", memory, "dy(R,h), rows(T,K) -> dx(T,h)", "T, h, K, R",
              "dx[t] = sum_k dy[rows[t,k]]"},
    KernelRow{K::unpermute_fwd, "unpermute_fwd", memory, "y(R,h), probs(T,K), rows(T,K) -> x(T,h)",
              "T, h, K, R", "x[t] = sum_k probs[t,k] y[rows[t,k]]"},
    KernelRow{K::unpermute_bwd, "unpermute_bwd", memory,
              "dx(T,h), y(R,h), probs(T,K), rows(T,K) -> dy(R,h), dprobs(T,K)", "T, h, K, R",
              "dy[rows[t,k]] = probs[t,k] dx[t], other rows 0; dprobs[t,k] = dx[t] y[rows[t,k]]"},
    KernelRow{K::spread_fwd, "spread_fwd", memory, "probs(T,K), rows(T,K) -> w(R)", "T, 0, K, R",
              "w[rows[t,k]] = probs[t,k], other rows 0"},
    KernelRow{K::spread_bwd, "spread_bwd", memory, "dw(R), rows(T,K) -> dprobs(T,K)", "T, 0, K, R",
              "0 without a row"},
    KernelRow{K::weighted_activation_fwd, "weighted_activation_fwd", memory,
              "x(T,f) or x(T,2f), w(T) -> y(T,f)", "T, f, activation", "activation_fwd times w"},
    KernelRow{K::weighted_activation_bwd, "weighted_activation_bwd", memory,
              "dy(T,f), x(T,f) or x(T,2f), w(T) -> dx like x, dw(T)", "T, f, activation", ""},
    KernelRow{K::swap_chunks, "swap_chunks", memory, "x(A,B,n) -> y(B,A,n)", "A, B, n",
              "rows of one expert together that came from several ranks, and back"},
    KernelRow{K::pad_groups, "pad_groups", memory, "x(G,M,n) -> y(G,M',n)", "G, M, M', n",
              "the first rows of each group, at most M'; rows it adds are 0"},
    KernelRow{K::ce_max, "ce_max", memory, "logits(T,V) -> max(T)", "T, V, 0, blocks",
              "over the unpadded columns of this rank"},
    KernelRow{K::ce_partial, "ce_partial", memory,
              "logits(T,V), labels(T), max(T) -> probs(T,V), target(T), sum(T)", "T, V, 0, blocks",
              "probs = exp(logits - max), 0 in padded columns; target = logit - max of the label "
              "when owned, else 0"},
    KernelRow{K::ce_loss, "ce_loss", memory, "target(T), sum(T) -> loss(1) +=", "T, k",
              "loss += sum_r (log(sum) - target) / k"},
    KernelRow{K::ce_bwd, "ce_bwd", memory,
              "probs(T,V), sum(T), labels(T) [, loss_scale(4)] -> dlogits(T,V)", "T, V, k, blocks",
              "(probs / sum - onehot) scale / k, 0 in padded columns; may be in place"},
    KernelRow{K::ce_sums, "ce_sums", memory, "logits(T,V), labels(T), max(T) -> target(T), sum(T)",
              "T, V, 0, blocks", "what ce_partial says of a row, without keeping probs"},
    KernelRow{K::ce_grad, "ce_grad", memory,
              "logits(T,V), labels(T), max(T), sum(T) [, loss_scale(4)] -> dlogits(T,V)",
              "T, V, k, blocks", "the gradient from the logits themselves; may be in place"},
    KernelRow{K::sum_squares, "sum_squares", memory, "g(n) -> norm2(1) +=", "n",
              "skips elements another rank of the norm's group also holds"},
    KernelRow{K::clip_coefficient, "clip_coefficient", memory, "norm2(1) -> coefficient(1)", "1",
              "min(1, max_norm / (sqrt(norm2) + 1e-6)), max_norm 1"},
    KernelRow{K::start_loss_scale, "start_loss_scale", memory, "-> loss_scale(4)",
              "log2 of the scale, hysteresis",
              "scale, finite steps in a row, overflows spared before it backs off, steps skipped"},
    KernelRow{K::unscale, "unscale", memory,
              "g(n), loss_scale(4) -> g(n) in place, found_inf(1) max=", "n",
              "g /= scale; found_inf = 1 when an element is not finite"},
    KernelRow{K::update_loss_scale, "update_loss_scale", memory,
              "found_inf(1) -> loss_scale(4) in place", "growth interval, hysteresis",
              "halved after an overflow that is not spared, doubled after an interval of none"},
    KernelRow{
        K::adamw, "adamw", memory,
        "g(n), coefficient(1) [, found_inf(1), loss_scale(4)] -> master(n), m(n), v(n), w(n)", "n",
        "AdamW with decoupled weight decay on coefficient * g; w = cast(master); nothing when "
        "found_inf"},
    KernelRow{K::sgd, "sgd", memory,
              "g(n), coefficient(1) [, found_inf(1), loss_scale(4)] -> master(n), w(n)", "n",
              "master -= lr * coefficient * g; w = cast(master); nothing when found_inf"},
    KernelRow{K::to_host, "to_host", link, "x_i(n_i).. on the device -> y_i(n_i).. on the host",
              "sum of n_i", "y_i = x_i, each in its own type"},
    KernelRow{K::to_device, "to_device", link, "x_i(n_i).. on the host -> y_i(n_i).. on the device",
              "sum of n_i", "y_i = x_i, each in its own type"},
    KernelRow{K::host_work, "host_work", host, "", "kind",
              "time of the host alone: data loading, framework code"},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].kernel != static_cast<Kernel>(i)) return false;
  }
  return kRows.size() == static_cast<std::size_t>(Kernel::count);
}
static_assert(in_order(), "kernel rows stand in the order of the enum");

}  // namespace

std::span<const KernelRow> kernel_table() {
  return kRows;
}

const KernelRow& row_of(Kernel kernel) {
  CHECK(kernel < Kernel::count, "kernel out of range");
  return kRows[static_cast<std::size_t>(kernel)];
}

}  // namespace windtunnel
