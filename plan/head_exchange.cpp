#include "plan/head_exchange.h"

#include <string>
#include <vector>

namespace windtunnel {

namespace {

struct Part {
  const char* name;
  std::int64_t offset, columns;  // of all heads
};

std::vector<Part> qkv_parts(const LayerSizes& z) {
  const std::int64_t q = z.qkv - z.keys, k = z.kv_heads * z.head_dim, v = z.keys - k;
  return {{"q", 0, q}, {"k", q, k}, {"v", q + k, v}};
}

std::vector<Part> context_part(const LayerSizes& z) {
  return {{"context", 0, z.query}};
}

class Exchange {
 public:
  Exchange(RoleDraft& d, const LayerSizes& z) : d_(d), z_(z), ranks_(d.plan().cp_heads) {}

  /// x (T, width) -> (n T, width / n)
  SlotId gather(const std::vector<Part>& parts, SlotId x) {
    const std::int64_t width = width_of(parts);
    OperandList received;
    for (const Part& p : parts) {
      received.push_back(exchange(p,
                                  {.kernel = Kernel::columns_to_blocks,
                                   .dims = {z_.rows, width, p.columns, p.offset, ranks_}},
                                  x));
    }
    return join({.kernel = Kernel::rows_to_sequence, .dims = {z_.rows, width / ranks_, ranks_}},
                received, z_.rows * width, parts.size() > 1 ? "qkv_heads" : "dcontext_heads");
  }

  /// x (n T, width / n) -> (T, width)
  SlotId scatter(const std::vector<Part>& parts, SlotId x) {
    const std::int64_t width = width_of(parts);
    OperandList received;
    for (const Part& p : parts) {
      const KernelSpec spec{
          .kernel = Kernel::sequence_to_rows,
          .dims = {z_.rows, width / ranks_, p.columns / ranks_, p.offset / ranks_, ranks_}};
      received.push_back(exchange(p, spec, x));
    }
    return join({.kernel = Kernel::blocks_to_columns, .dims = {z_.rows, width, ranks_}}, received,
                z_.rows * width, parts.size() > 1 ? "dqkv" : "context");
  }

 private:
  static std::int64_t width_of(const std::vector<Part>& parts) {
    return parts.back().offset + parts.back().columns;
  }

  SlotId exchange(const Part& part, KernelSpec copy, SlotId x) {
    const std::int64_t n = z_.rows * part.columns;
    const std::string name = part.name;
    const SlotId blocks = d_.tensor(name + "_blocks", n, z_.act, Category::comm_buffers);
    copy.module = Module::core_attention;
    copy.extra_bytes = d_.slot(blocks).bytes() - d_.slot(x).bytes();  // reads its columns alone
    d_.kernel(copy, {x}, {blocks});
    const SlotId received = d_.tensor(name + "_received", n, z_.act, Category::comm_buffers);
    d_.collective({.collective = Collective::all_to_all,
                   .reduce = ReduceOp::none,
                   .comm = d_.comm(d_.plan().cp == ranks_ ? "cp" : "cp_heads"),
                   .module = Module::core_attention},
                  blocks, received, n);
    return received;
  }

  SlotId join(KernelSpec copy, const OperandList& parts, std::int64_t elements, const char* name) {
    const SlotId whole = d_.tensor(name, elements, z_.act);
    copy.module = Module::core_attention;
    d_.kernel(copy, parts, {whole});
    return whole;
  }

  RoleDraft& d_;
  const LayerSizes& z_;
  int ranks_;
};

}  // namespace

SlotId gather_sequence_of_qkv(RoleDraft& d, const LayerSizes& z, SlotId qkv) {
  return Exchange(d, z).gather(qkv_parts(z), qkv);
}

SlotId scatter_sequence_of_qkv(RoleDraft& d, const LayerSizes& z, SlotId qkv) {
  return Exchange(d, z).scatter(qkv_parts(z), qkv);
}

SlotId scatter_sequence_of_context(RoleDraft& d, const LayerSizes& z, SlotId context) {
  return Exchange(d, z).scatter(context_part(z), context);
}

SlotId gather_sequence_of_context(RoleDraft& d, const LayerSizes& z, SlotId context) {
  return Exchange(d, z).gather(context_part(z), context);
}

}  // namespace windtunnel
