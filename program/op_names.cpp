#include "program/op_names.h"

#include <array>

namespace windtunnel {

namespace {

template <std::size_t N, class Enum>
const char* pick(const std::array<const char*, N>& names, Enum value) {
  const auto i = static_cast<std::size_t>(value);
  return i < N ? names[i] : "?";
}

}  // namespace

const char* name_of(OpKind kind) {
  static constexpr std::array kNames{"compute", "collective", "send", "recv",      "alloc",
                                     "free",    "record",     "wait", "host_work", "host_sync"};
  return pick(kNames, kind);
}

const char* name_of(Collective collective) {
  static constexpr std::array kNames{"all_reduce", "all_gather", "reduce_scatter",
                                     "all_to_all", "broadcast",  "ring_shift"};
  return pick(kNames, collective);
}

const char* name_of(ReduceOp op) {
  static constexpr std::array kNames{"none", "sum", "average", "max"};
  return pick(kNames, op);
}

const char* name_of(Stream stream) {
  static constexpr std::array kNames{"compute",     "tp",           "ep",          "dp",
                                     "dp_gather",   "dp_replicate", "cp",          "pp_send_fwd",
                                     "pp_recv_fwd", "pp_send_bwd",  "pp_recv_bwd", "to_host",
                                     "to_device",   "host_update"};
  static_assert(kNames.size() == static_cast<std::size_t>(Stream::count));
  return pick(kNames, stream);
}

const char* name_of(Phase phase) {
  static constexpr std::array kNames{"startup",   "forward",   "backward",  "weight_grad",
                                     "grad_sync", "optimizer", "param_sync"};
  return pick(kNames, phase);
}

const char* name_of(Module module) {
  static constexpr std::array kNames{
      "none",     "embedding", "norm", "attention", "core_attention", "mlp",      "activation",
      "residual", "head",      "loss", "optimizer", "data",           "pipeline", "offload"};
  return pick(kNames, module);
}

const char* name_of(Category category) {
  static constexpr std::array kNames{
      "weights", "grads",     "master_weights", "optimizer_states", "activations", "norm_stats",
      "logits",  "workspace", "comm_buffers",   "inputs",           "scalars",     "unsharded"};
  static_assert(kNames.size() == static_cast<std::size_t>(Category::count));
  return pick(kNames, category);
}

const char* name_of(Space space) {
  static constexpr std::array kNames{"statics", "step", "frame", "scratch"};
  return pick(kNames, space);
}

const char* name_of(When when) {
  static constexpr std::array kNames{
      "always",           "first_micro_batch",    "not_first_micro_batch",
      "last_micro_batch", "not_last_micro_batch", "first_step"};
  return pick(kNames, when);
}

std::string axes_text(std::uint8_t axes) {
  static constexpr std::array<std::pair<std::uint8_t, const char*>, 5> kAxes{
      {{kAxisTp, "tp"}, {kAxisCp, "cp"}, {kAxisEp, "ep"}, {kAxisDp, "dp"}, {kAxisPp, "pp"}}};
  std::string text;
  for (const auto& [bit, name] : kAxes) {
    if ((axes & bit) == 0) continue;
    if (!text.empty()) text += " x ";
    text += name;
  }
  return text;
}

std::string text_of(const Shape& shape) {
  std::string dims;
  for (const std::int64_t d : shape.dims) {
    if (d > 0) dims += (dims.empty() ? "" : " x ") + std::to_string(d);
  }
  return std::string(name_of(shape.kernel)) + " " + dims;
}

}  // namespace windtunnel
