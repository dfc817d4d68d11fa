#include "plan/expert_exchange.h"

#include "models/architectures/experts.h"

namespace windtunnel {

ExpertSizes::ExpertSizes(const RoleDraft& d, const LayerSizes& z, std::int64_t aligned) {
  const MoeShape& moe = *d.model().moe;
  const ResolvedPlan& p = d.plan();
  experts = moe.experts;
  top_k = moe.top_k;
  const std::int64_t tokens = z.rows * p.cp;
  parts = p.routing_parts * z.norm_rows / tokens;
  ring = p.routing_ring / p.cp;
  capacity = expert_rows(moe, tokens / p.routing_parts);
  held = experts / p.ep;
  sources = std::int64_t{p.ep} * p.etp * parts;
  permuted = experts * parts * capacity;
  rows = held * sources * capacity;
  padded = held * ((sources * capacity + aligned - 1) / aligned * aligned);
  ffn = moe.ffn / p.etp;
  fc1 = d.model().gated() ? 2 * ffn : ffn;
  shared = moe.shared_experts * moe.ffn / p.tp;
}

SlotId ExpertExchange::all_to_all(SlotId x, const char* name, const Beside& beside) {
  if (d_.comm("ep") == kNone) {
    if (beside) beside();
    return x;
  }
  const std::int64_t n = d_.slot(x).elements;
  const SlotId y = d_.tensor(name, n, d_.slot(x).dtype);
  const bool apart = d_.plan().overlap_ep && beside;
  const Stream stream = apart ? Stream::ep : Stream::compute;
  d_.order({.to = stream, .event = "ep_ready", .per_frame = true});
  const std::uint32_t done = apart ? d_.event("exchanged", true) : kNone;
  d_.collective({.collective = Collective::all_to_all,
                 .reduce = ReduceOp::none,
                 .comm = d_.comm("ep"),
                 .stream = stream,
                 .module = Module::mlp},
                x, y, n);
  if (apart) d_.record(done, stream);
  if (beside) beside();
  if (apart) d_.wait(done, Stream::compute, {x, y});
  return y;
}

/// Chunks of one expert's rows: (a, b, chunk) -> (b, a, chunk).
SlotId ExpertExchange::swapped(SlotId x, const char* name, std::array<std::int64_t, 2> chunks) {
  const std::int64_t a = chunks[0], b = chunks[1];
  if (a == 1 || b == 1) return x;
  const Slot& from = d_.slot(x);
  const std::int64_t n = from.elements;
  const SlotId y = d_.tensor(name, n, from.dtype);
  d_.kernel({.kernel = Kernel::swap_chunks, .dims = {a, b, n / (a * b)}, .module = Module::mlp},
            {x}, {y});
  return y;
}

/// Another number of rows for every expert.
SlotId ExpertExchange::with_rows(SlotId x, const char* name, std::array<std::int64_t, 2> from_to) {
  const auto [from, to] = from_to;
  if (from == to) return x;
  const std::int64_t width = d_.slot(x).elements / from;
  const SlotId y = d_.tensor(name, to * width, d_.slot(x).dtype);
  d_.kernel({.kernel = Kernel::pad_groups,
             .dims = {e_.held, from / e_.held, to / e_.held, width},
             .module = Module::mlp},
            {x}, {y});
  return y;
}

SlotId ExpertExchange::to_experts(SlotId x, std::int64_t width, const Beside& beside) {
  x = all_to_all(x, "dispatched", beside);
  if (d_.plan().etp > 1) {
    const SlotId all = d_.tensor("gathered", e_.rows * width, d_.slot(x).dtype);
    d_.collective({.collective = Collective::all_gather,
                   .reduce = ReduceOp::none,
                   .comm = d_.comm("tp"),
                   .module = Module::mlp},
                  x, all, e_.rows * width);
    x = all;
  }
  x = swapped(x, "sorted", {e_.sources / e_.parts, e_.held});
  return with_rows(x, "padded", {e_.rows, e_.padded});
}

SlotId ExpertExchange::from_experts(SlotId x, std::int64_t width, const Beside& beside) {
  x = with_rows(x, "cut", {e_.padded, e_.rows});
  x = swapped(x, "unsorted", {e_.held, e_.sources / e_.parts});
  if (d_.plan().etp > 1) {
    const SlotId part = d_.tensor("scattered", e_.permuted * width, d_.slot(x).dtype);
    d_.collective(
        {.collective = Collective::reduce_scatter, .comm = d_.comm("tp"), .module = Module::mlp}, x,
        part, e_.rows * width);
    x = part;
  }
  return all_to_all(x, "returned", beside);
}

}  // namespace windtunnel
