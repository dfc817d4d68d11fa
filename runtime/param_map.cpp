#include "runtime/param_map.h"

#include <algorithm>
#include <numeric>

#include "core/check.h"

namespace windtunnel {

std::string tensor_name(const Program& program, const Param& param) {
  return program.names[param.name];
}

ParamMap::ParamMap(const Param& param, const Mesh& mesh, const Coordinates& at)
    : rows_(std::max(param.rows, param.padded_rows)),
      cols_(param.cols),
      global_cols_(param.cols),
      held_(param.held),
      first_expert_(param.is_parted() ? expert_place(mesh, at) * param.held : 0),
      expert_elements_(rows_ * cols_),
      dim_(param.shard_dim) {
  const int tp = mesh.tp;
  if (dim_ < 0) return;
  const std::int64_t extent = dim_ == 0 ? rows_ : cols_;
  std::vector<std::int64_t> blocks(param.blocks.begin(), param.blocks.end());
  std::erase(blocks, 0);
  if (blocks.empty()) blocks.push_back(extent);
  CHECK(std::accumulate(blocks.begin(), blocks.end(), std::int64_t{0}) == extent,
        "blocks of a parameter add up to its sharded dimension");
  std::int64_t base = 0;
  for (const std::int64_t block : blocks) {
    CHECK(block % tp == 0, "a block of a sharded parameter divides by tp");
    const std::int64_t share = block / tp;
    for (std::int64_t i = 0; i < share; ++i) along_.push_back(base + at.tp * share + i);
    base += block;
  }
  (dim_ == 0 ? rows_ : cols_) = static_cast<std::int64_t>(along_.size());
}

std::int64_t ParamMap::global_index(std::int64_t local) const {
  const std::int64_t expert = local / (rows_ * cols_);
  local %= rows_ * cols_;
  std::int64_t row = local / cols_;
  std::int64_t col = local % cols_;
  if (dim_ == 0) row = along_[static_cast<std::size_t>(row)];
  if (dim_ == 1) col = along_[static_cast<std::size_t>(col)];
  return (first_expert_ + expert) * expert_elements_ + row * global_cols_ + col;
}

bool counts_in_norm(const Param& param, int tp_rank) {
  if (param.tied_copy || param.second_copy) return false;
  return param.shard_dim >= 0 || tp_rank == 0 || param.experts > 1;
}

}  // namespace windtunnel
