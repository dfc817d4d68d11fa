#include "scenarios/yaml/merge.h"

#include <fmt/format.h>

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace windtunnel {

std::uint32_t Merger::merge(std::uint32_t base, std::uint32_t over) {
  const std::uint32_t merged = merge_maps(base, over);
  expanded_ += tree_.nodes[merged].expanded;
  if (expanded_ > kMaxExpandedNodes) {
    throw InputError(
        {YamlValue(tree_, over)
             .diagnostic(fmt::format("the set has more than {} values with `defaults` filled in",
                                     kMaxExpandedNodes),
                         "split the set into several files")});
  }
  return merged;
}

std::uint32_t Merger::merge_maps(std::uint32_t base, std::uint32_t over) {
  const YamlValue below(tree_, base);
  const YamlValue above(tree_, over);
  if (!below.is_map() || !above.is_map()) return over;
  std::unordered_map<std::string_view, std::size_t> replaced;  // key -> its entry above
  for (std::size_t i = 0; i < above.size(); ++i) replaced.emplace(above.key(i).text(), i);
  std::vector<std::uint32_t> children;
  std::unordered_set<std::string_view> taken;
  for (std::size_t i = 0; i < below.size(); ++i) {
    const std::string_view key = below.key(i).text();
    const auto found = replaced.find(key);
    if (found == replaced.end()) {
      children.push_back(below.key(i).index());
      children.push_back(below.value(i).index());
      continue;
    }
    taken.insert(key);
    children.push_back(above.key(found->second).index());
    children.push_back(merge_maps(below.value(i).index(), above.value(found->second).index()));
  }
  for (std::size_t i = 0; i < above.size(); ++i) {
    if (taken.contains(above.key(i).text())) continue;
    children.push_back(above.key(i).index());
    children.push_back(above.value(i).index());
  }
  YamlNode node = tree_.nodes[over];
  node.begin = static_cast<std::uint32_t>(tree_.children.size());
  node.size = static_cast<std::uint32_t>(children.size() / 2);
  node.expanded = 1;
  for (const std::uint32_t child : children) node.expanded += tree_.nodes[child].expanded;
  tree_.children.insert(tree_.children.end(), children.begin(), children.end());
  tree_.nodes.push_back(node);
  return static_cast<std::uint32_t>(tree_.nodes.size() - 1);
}

}  // namespace windtunnel
