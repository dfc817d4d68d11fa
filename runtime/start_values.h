#pragma once
// The content training starts from: weights their initial values, masters the weights they belong
// to, optimizer states 0. Everything else is written before it is read.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "program/program.h"
#include "runtime/execution.h"
#include "runtime/initial_values.h"
#include "runtime/rank_params.h"

namespace windtunnel {

/// What initial values depend on beside the tensor.
struct StartOptions {
  const Program& program;
  std::uint64_t seed = 1;
  std::optional<Perturbation> perturbation;
};

constexpr bool has_start_values(Category category) {
  return category == Category::weights || category == Category::master_weights ||
         category == Category::optimizer_states;
}

/// Fills `data`, all elements of the root slot `id`. Precondition: has_start_values.
template <class T>
void fill_at_start(const StartOptions& options, const RankParams& params, const Slot& slot,
                   SlotId id, T* data) {
  std::fill(data, data + slot.elements, T{});
  if (slot.category != Category::weights) return;
  for (const ParamRange& r : params.ranges(id)) {
    const Param& param = options.program.params[r.param];
    const std::string name = tensor_name(options.program, param);
    const InitialValues<T> values{.init = param.init,
                                  .rows = param.rows * param.experts,
                                  .cols = param.cols,
                                  .seed = options.seed,
                                  .tensor = hash_of(name)};
    const ParamMap& map = params.map(r.param);
    for (std::int64_t i = r.begin; i < r.end; ++i) {
      const std::int64_t index = map.global_index(r.first + i - r.begin);
      data[i] = values.at(index);
      if constexpr (!reference::Number<T>::exact) {
        const auto& p = options.perturbation;
        if (p && p->index == index && p->tensor == name) data[i] += static_cast<T>(p->delta);
      }
    }
  }
}

}  // namespace windtunnel
