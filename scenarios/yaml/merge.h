#pragma once
// How an entry of a set takes its defaults: maps merge key by key, everything else is replaced.

#include "scenarios/yaml/tree.h"

namespace windtunnel {

/// The node of `over` merged over `base`, both of `tree`; new nodes are added to it. Every value
/// keeps the place it was written at; a merged map stands where `over` stands. Throws InputError
/// when the merged nodes of a tree would outgrow kMaxExpandedNodes.
class Merger {
 public:
  explicit Merger(YamlTree& tree) : tree_(tree) {}

  std::uint32_t merge(std::uint32_t base, std::uint32_t over);

 private:
  std::uint32_t merge_maps(std::uint32_t base, std::uint32_t over);

  YamlTree& tree_;
  std::uint64_t expanded_ = 0;
};

}  // namespace windtunnel
