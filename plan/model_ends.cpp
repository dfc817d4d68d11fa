#include "plan/model_ends.h"

#include "plan/elementwise.h"

namespace windtunnel {

namespace {

Param word_embedding_param(const RoleDraft& d) {
  return {.rows = d.model().vocab,
          .cols = d.model().hidden,
          .padded_rows = d.plan().vocab_padded,
          .shard_dim = 0,
          .blocks = {d.plan().vocab_padded},
          .init = Param::Init::normal,
          .layer = -1};
}

SlotId load(RoleDraft& d, const LayerSizes& z, Kernel kernel, int depth, std::string_view name) {
  const SlotId x = d.tensor(name, z.rows, Dtype::int64, Category::inputs);
  d.kernel({.kernel = kernel, .dims = {z.rows, z.micro, depth}, .module = Module::data}, {}, {x});
  return x;
}

/// The target's logit and the sum of exponentials of each token, and what is reduced over tp.
struct TokenSums {
  SlotId target = kNone, sum = kNone;
  OperandList reduced;
};

/// Megatron's fused loss (core/fusions/fused_cross_entropy.py) has the plain one's tensors in fewer
/// kernels, these two in one that is reduced at once.
TokenSums token_sums(RoleDraft& d, std::int64_t rows) {
  const auto tensor = [&](std::string_view name, std::int64_t n) {
    return d.tensor(name, n, Dtype::fp32, Category::logits);
  };
  if (d.plan().cross_entropy == CrossEntropyKind::fused) {
    const SlotId both = tensor("target_and_sum", 2 * rows);
    return {d.view(both, "target", 0, rows), d.view(both, "sum", rows, rows), {both}};
  }
  const SlotId target = tensor("target", rows), sum = tensor("sum", rows);
  return {target, sum, {target, sum}};
}

/// A compiled loss reads the logits as they are, and keeps them instead of its probabilities: casts
/// and exponentials are done again where they are read (torchtitan components/loss.py compiles
/// cross_entropy_loss; PyTorch's partitioner recomputes what fuses into its reader).
bool compiled_loss(const RoleDraft& d) {
  return d.plan().compile && d.rules().compiles_loss &&
         d.plan().cross_entropy == CrossEntropyKind::plain;
}

/// Tensors like the log-probabilities alive beside them and the gradient while that is made, and
/// passes over such a tensor beyond reading the one and writing the other.
struct LossTensors {
  int besides = 0;
  std::int64_t more_passes = 0;
};
LossTensors loss_tensors(LossGradient gradient) {
  switch (gradient) {
    case LossGradient::in_place:
      return {};
    case LossGradient::through_log:
      return {.besides = 1, .more_passes = 2};  // zeroed; read
    case LossGradient::loss_parallel:
      return {.besides = 2, .more_passes = 6};  // zeroed; exponentials written, read; sum; scaled
  }
  return {};
}

}  // namespace

ParameterId declare_word_embedding(RoleDraft& d, ChunkParameters& p, WordEmbedding which) {
  const Model& m = d.model();
  const int depths = static_cast<int>(m.mtp_layers);
  const int heads = m.tied_embeddings ? 1 + depths : 0;
  const bool with_head = which == WordEmbedding::copy || d.plan().pp == 1;
  Param param = word_embedding_param(d);
  param.tied_copy = which == WordEmbedding::copy;
  return p.declare(
      {.param = param,
       .name = "word_embedding",
       .contributions = (which == WordEmbedding::own ? 1 : 0) + (with_head ? heads + depths : 0)});
}

void EmbeddingEnd::declare_parameters() {
  const Model& m = d_.model();
  word_ = declare_word_embedding(d_, params_, WordEmbedding::own);
  if (m.position != PositionKind::learned) return;
  const std::int64_t rows = std::max(m.max_positions, d_.scenario.scenario.batch.sequence);
  position_ = params_.declare({.param = {.rows = rows,
                                         .cols = m.hidden,
                                         .padded_rows = rows,
                                         .shard_dim = -1,
                                         .init = Param::Init::normal,
                                         .layer = -1},
                               .name = "position_embedding",
                               .partial_over_tp = d_.plan().sequence_parallel});
}

SlotId EmbeddingEnd::forward() {
  const Model& m = d_.model();
  tokens_ = load(d_, z_, Kernel::load_tokens, depth_, "tokens");
  params_.before_use(d_, word_);
  SlotId x = d_.tensor("embedding", z_.rows * z_.hidden, z_.act);
  const SlotId weight = params_.slots(word_).weight;
  // Reads the rows it looks up, not the table.
  const std::int64_t gathered = d_.slot(x).bytes() - d_.slot(weight).bytes();
  d_.kernel({.kernel = Kernel::embedding_fwd,
             .dims = {z_.rows, z_.hidden, d_.plan().vocab_padded / d_.plan().tp},
             .module = Module::embedding,
             .launches = d_.plan().tp > 1 ? 4 : 1,
             .extra_bytes = gathered},
            {tokens_, weight}, {x});
  x = reduce_rows(d_, z_, x, z_.hidden);
  if (m.position == PositionKind::learned && depth_ == 0) {
    params_.before_use(d_, position_);
    const SlotId y = d_.tensor("embedding", d_.slot(x).elements, z_.act);
    d_.kernel({.kernel = Kernel::position_fwd,
               .dims = {z_.norm_rows, z_.hidden, z_.micro},
               .attr = z_.norm_attr,
               .module = Module::embedding,
               .launches = 2},
              {x, params_.slots(position_).weight}, {y});
    x = y;
  }
  if (m.dropout && d_.rules().embedding_dropout && depth_ == 0) {
    const SlotId y = d_.tensor("embedding", d_.slot(x).elements, z_.act);
    mask_ = d_.tensor("dropout_mask", d_.slot(x).elements, Dtype::uint8);
    d_.kernel({.kernel = Kernel::dropout_fwd,
               .dims = {z_.norm_rows, z_.hidden, 3, z_.micro},
               .attr = z_.norm_attr,
               .module = Module::embedding},
              {x}, {y, mask_});
    x = y;
  }
  return x;
}

void EmbeddingEnd::backward(SlotId dy) {
  SlotId dx = dy;
  if (mask_ != kNone) {
    dx = d_.tensor("dembedding", d_.slot(dy).elements, z_.act);
    d_.kernel({.kernel = Kernel::dropout_bwd,
               .dims = {z_.norm_rows, z_.hidden, 3, z_.micro},
               .attr = z_.norm_attr,
               .module = Module::embedding},
              {dy, mask_}, {dx});
  }
  if (d_.model().position == PositionKind::learned && depth_ == 0) {
    params_.prepare_gradient(d_, position_);
    d_.kernel({.kernel = Kernel::position_bwd,
               .dims = {z_.norm_rows, z_.hidden, z_.micro},
               .attr = z_.norm_attr,
               .module = Module::embedding},
              {dx}, {params_.slots(position_).grad});
    params_.gradient_drafted(d_, position_);
  }
  const SlotId full = gather_rows(d_, z_, dx, z_.hidden);
  const SlotId grad = params_.slots(word_).grad;
  params_.prepare_gradient(d_, word_);
  // Reads and writes the rows it touches, not the table.
  const std::int64_t touched =
      2 * (d_.slot(full).elements * bits_of(d_.slot(grad).dtype) / 8 - d_.slot(grad).bytes());
  d_.kernel({.kernel = Kernel::embedding_bwd,
             .dims = {z_.rows, z_.hidden, d_.plan().vocab_padded / d_.plan().tp},
             .module = Module::embedding,
             .launches = 2,
             .extra_bytes = touched},
            {tokens_, full}, {grad});
  params_.gradient_drafted(d_, word_);
}

void HeadEnd::declare_norm() {
  const Model& m = d_.model();
  const auto layer = static_cast<std::int16_t>(depth_ == 0 ? -1 : m.layers + depth_ - 1);
  const Param vector{.rows = m.hidden,
                     .cols = 1,
                     .padded_rows = m.hidden,
                     .shard_dim = -1,
                     .init = Param::Init::ones,
                     .layer = layer};
  const bool partial = d_.plan().sequence_parallel;
  const std::string name =
      (depth_ == 0 ? std::string() : "layers." + std::to_string(layer) + ".mtp.") + "final_norm";
  norm_weight_ =
      params_.declare({.param = vector, .name = name + ".weight", .partial_over_tp = partial});
  if (m.norm == NormKind::layernorm) {
    Param bias = vector;
    bias.init = Param::Init::zeros;
    norm_bias_ =
        params_.declare({.param = bias, .name = name + ".bias", .partial_over_tp = partial});
  }
}

void HeadEnd::declare_weight() {
  const int depths = static_cast<int>(d_.model().mtp_layers);
  weight_ = params_.declare(
      {.param = word_embedding_param(d_), .name = "head", .contributions = 1 + depths});
}

Linear HeadEnd::head() const {
  return {.weight = weight_,
          .in = z_.hidden,
          .out = d_.plan().vocab_padded / d_.plan().tp,
          .module = Module::head,
          .frozen = d_.plan().lora.has_value()};
}

SlotId HeadEnd::normalize(SlotId input) {
  input_ = input;
  labels_ = load(d_, z_, Kernel::load_labels, depth_, "labels");
  const NormResult n = norm_forward(
      d_, params_,
      {.input = input, .weight = norm_weight_, .bias = norm_bias_, .name = "final_norm"});
  norm_ = n.output;
  norm_stats_ = n.stats;
  normalized_ = n.normalized;
  return norm_;
}

void HeadEnd::forward_loss(SlotId loss) {
  input_to_head_ = column_input(d_, z_, head(), norm_, MadeBy::norm);
  if (d_.plan().cross_entropy == CrossEntropyKind::chunked) {
    chunked_.forward(head(), {.norm = input_to_head_.full, .labels = labels_, .divisor = divisor()},
                     loss);
    return;
  }
  const SlotId logits = linear_forward(d_, params_, head(), input_to_head_, "logits");
  d_.slot(logits).category = Category::logits;
  cross_entropy(logits, loss);
}

/// Losses of deeper predictions together weigh a tenth (mtp_loss_scaling_factor).
std::int64_t HeadEnd::divisor() const {
  const std::int64_t tokens = z_.rows * d_.plan().micro_batches;
  constexpr std::int64_t kTenth = 10;
  return depth_ == 0 ? tokens : tokens * kTenth * d_.model().mtp_layers;
}

std::int64_t HeadEnd::blocks() const {
  return d_.rules().logits_gathered ? d_.plan().tp : 1;
}

/// The gathered parts and their concatenation are two tensors; the parts go when the output is
/// made.
SlotId HeadEnd::gather_logits(SlotId logits) {
  const std::int64_t n = z_.rows * head().out * blocks();
  const SlotId parts = d_.tensor("logits_parts", n, z_.act, Category::logits);
  d_.collective({.collective = Collective::all_gather,
                 .reduce = ReduceOp::none,
                 .comm = d_.comm("tp"),
                 .module = Module::loss},
                logits, parts, n);
  const SlotId full = d_.tensor("logits_full", n, z_.act, Category::logits);
  d_.kernel({.kernel = Kernel::copy, .dims = {n}, .module = Module::loss}, {parts}, {full});
  return full;
}

void HeadEnd::cross_entropy(SlotId logits, SlotId loss) {
  const std::int64_t width = head().out;
  const std::int64_t n = z_.rows * width * blocks();
  const std::uint32_t tp = blocks() > 1 ? kNone : d_.comm("tp");
  if (d_.rules().logits_gathered) {
    if (blocks() > 1) logits = gather_logits(logits);
    gathered_logits_ = logits;
  }
  const bool upcast = d_.plan().logits_fp32 && bits_of(z_.act) < 32 && !compiled_loss(d_);
  SlotId wide = logits;
  if (upcast) {
    wide = d_.tensor("logits_fp32", n, Dtype::fp32, Category::logits);
    d_.kernel({.kernel = Kernel::cast, .dims = {n}, .module = Module::loss}, {logits}, {wide});
  }
  auto reduce = [&](SlotId x, ReduceOp op) {
    if (tp == kNone) return;
    d_.collective({.reduce = op, .comm = tp, .module = Module::loss}, x, x, d_.slot(x).elements);
  };
  const SlotId max = d_.tensor("max", z_.rows, Dtype::fp32, Category::logits);
  d_.kernel(
      {.kernel = Kernel::ce_max, .dims = {z_.rows, width, 0, blocks()}, .module = Module::loss},
      {wide}, {max});
  reduce(max, ReduceOp::max);
  if (compiled_loss(d_)) {
    const SlotId target = d_.tensor("target", z_.rows, Dtype::fp32, Category::logits);
    sum_ = d_.tensor("sum", z_.rows, Dtype::fp32, Category::logits);
    logits_ = logits;
    max_ = max;
    d_.kernel({.kernel = Kernel::ce_sums,
               .dims = {z_.rows, width, 0, blocks()},
               .attr = kFused,
               .module = Module::loss,
               .continues = tp == kNone},
              {logits, labels_, max}, {target, sum_});
    for (const SlotId x : {target, sum_}) reduce(x, ReduceOp::sum);
    d_.kernel({.kernel = Kernel::ce_loss, .dims = {z_.rows, divisor()}, .module = Module::loss},
              {target, sum_}, {loss});
    return;
  }
  probs_ = d_.tensor("probs", n, d_.slot(wide).dtype, Category::logits);
  const TokenSums sums = token_sums(d_, z_.rows);
  sum_ = sums.sum;
  d_.kernel({.kernel = Kernel::ce_partial,
             .dims = {z_.rows, width, 0, blocks()},
             .module = Module::loss,
             .launches = sums.reduced.size() == 1 ? 4 : 8},
            {wide, labels_, max}, {probs_, sums.target, sum_});
  if (upcast) d_.hold(logits);
  for (const SlotId x : sums.reduced) reduce(x, ReduceOp::sum);
  d_.kernel({.kernel = Kernel::ce_loss,
             .dims = {z_.rows, divisor()},
             .module = Module::loss,
             .launches = 4},
            {sums.target, sum_}, {loss});
}

SlotId HeadEnd::logits_gradient() {
  const std::int64_t width = head().out;
  const std::int64_t n = z_.rows * width * blocks();
  const ShapeDims dims{z_.rows, width, divisor(), blocks()};
  const auto scaled = [&](OperandList inputs) {
    if (d_.loss_scale != kNone) inputs.push_back(d_.loss_scale);
    return inputs;
  };
  if (compiled_loss(d_)) {
    const SlotId gradient = d_.tensor("dlogits", n, z_.act, Category::logits);
    d_.kernel({.kernel = Kernel::ce_grad, .dims = dims, .attr = kFused, .module = Module::loss},
              scaled({logits_, labels_, max_, sum_}), {gradient});
    return gradient;
  }
  const LossTensors made = d_.plan().cross_entropy == CrossEntropyKind::plain
                               ? loss_tensors(d_.rules().loss_gradient)
                               : LossTensors{};
  const Dtype dtype = d_.slot(probs_).dtype;
  const SlotId gradient =
      made.besides > 0 ? d_.tensor("dlogits_fp32", n, dtype, Category::logits) : probs_;
  d_.kernel({.kernel = Kernel::ce_bwd,
             .dims = dims,
             .module = Module::loss,
             .launches = 4,
             .extra_bytes = made.more_passes * d_.slot(probs_).bytes()},
            scaled({probs_, sum_, labels_}), {gradient});
  for (int i = 0; i < made.besides; ++i)
    d_.slot(d_.keep("dlog_probs", n, dtype)).category = Category::logits;
  if (gathered_logits_ != kNone) d_.hold(gathered_logits_);
  if (d_.slot(gradient).dtype == z_.act) return gradient;
  const SlotId dlogits = d_.tensor("dlogits", n, z_.act, Category::logits);
  d_.kernel({.kernel = Kernel::cast, .dims = {n}, .module = Module::loss}, {gradient}, {dlogits});
  return dlogits;
}

SlotId HeadEnd::backward_loss() {
  if (d_.plan().cross_entropy == CrossEntropyKind::chunked) return chunked_.backward(head());
  SlotId dlogits = logits_gradient();
  // This rank's part of the gathered gradient.
  if (blocks() > 1) dlogits = d_.tp_part(dlogits, "dlogits_part");
  return column_backward(d_, params_, z_, head(),
                         {.output_grad = dlogits, .input = input_to_head_});
}

SlotId HeadEnd::backward_norm(SlotId norm_grad) {
  return norm_backward(d_, params_,
                       {.output_grad = norm_grad,
                        .input = input_,
                        .stats = norm_stats_,
                        .normalized = normalized_,
                        .weight = norm_weight_,
                        .bias = norm_bias_});
}

}  // namespace windtunnel
