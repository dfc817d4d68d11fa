#include "scenarios/yaml/tree_builder.h"

#include <fmt/format.h>

#include <string_view>
#include <unordered_map>

#include "scenarios/yaml/utf8.h"

namespace windtunnel {

namespace {

constexpr std::uint32_t kNoAnchor = 0xFFFFFFFF;
constexpr std::uint32_t kOpenAnchor = 0xFFFFFFFE;
constexpr std::size_t kMaxDuplicates = 100;

}  // namespace

TreeBuilder::TreeBuilder(SharedText source) {
  tree_.source = std::move(source);
}

void TreeBuilder::refuse(const YAML::Mark& mark, std::string message, std::string hint) const {
  throw InputError({tree_.source->diagnostic(mark.line + 1, mark.column + 1, std::move(message),
                                             std::move(hint))});
}

void TreeBuilder::OnDocumentStart(const YAML::Mark& mark) {
  if (++documents_ > 1) {
    refuse(mark, "a second document starts here",
           "one file holds one scenario or one set: {name, source, scenarios: [...]}");
  }
}

std::uint32_t TreeBuilder::add(const YAML::Mark& mark, NodeKind kind, YAML::anchor_t anchor) {
  const auto index = static_cast<std::uint32_t>(tree_.nodes.size());
  tree_.nodes.push_back({.kind = kind, .line = mark.line + 1, .column = mark.column + 1});
  if (anchor != 0) {
    if (anchors_.size() <= anchor) anchors_.resize(anchor + 1, kNoAnchor);
    const bool complete = kind == NodeKind::null || kind == NodeKind::scalar;
    anchors_[anchor] = complete ? index : kOpenAnchor;
  }
  return index;
}

void TreeBuilder::refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
  if (tag.empty() || tag == "?" || tag == "!") return;
  refuse(mark, "tags (!name) are not part of the scenario format",
         "write the value without the tag");
}

void TreeBuilder::check_key(const YAML::Mark& mark, std::uint32_t node) const {
  const YamlValue key(tree_, node);
  if (!key.is_scalar()) refuse(mark, "a key is a word, not " + key.described(), "");
  if (key.plain() && key.text() == "<<") {
    refuse(mark, "merge keys (<<) are not part of the scenario format",
           "put what scenarios share under `defaults` of a set, or use an alias for a whole value");
  }
}

void TreeBuilder::attach(const YAML::Mark& mark, std::uint32_t node) {
  ++events_;
  expanded_ += tree_.nodes[node].expanded;
  if (expanded_ > kMaxExpandedNodes) {
    refuse(mark,
           fmt::format("the document has more than {} values, aliases followed", kMaxExpandedNodes),
           "split a set into several files");
  }
  if (open_.empty()) {
    tree_.root = node;
    return;
  }
  const bool is_key = tree_.nodes[open_.back().node].kind == NodeKind::map &&
                      (pending_.size() - open_.back().first) % 2 == 0;
  if (is_key) check_key(mark, node);
  pending_.push_back(node);
}

void TreeBuilder::OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) {
  attach(mark, add(mark, NodeKind::null, anchor));
}

void TreeBuilder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
  const std::uint32_t node = anchor < anchors_.size() ? anchors_[anchor] : kNoAnchor;
  if (node == kOpenAnchor) refuse(mark, "this alias stands inside the value it stands for", "");
  if (node == kNoAnchor) refuse(mark, "this alias has no anchor before it", "");
  attach(mark, node);
}

void TreeBuilder::OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                           const std::string& value) {
  refuse_tag(mark, tag);
  if (const auto bad = first_bad_character(value)) {
    refuse(mark, "the text holds a " + bad->message, "remove the escape sequence");
  }
  const std::uint32_t node = add(mark, NodeKind::scalar, anchor);
  tree_.nodes[node].plain = tag == "?";
  tree_.nodes[node].begin = static_cast<std::uint32_t>(tree_.characters.size());
  tree_.nodes[node].size = static_cast<std::uint32_t>(value.size());
  tree_.characters += value;
  attach(mark, node);
}

void TreeBuilder::open(const YAML::Mark& mark, NodeKind kind, const std::string& tag,
                       YAML::anchor_t anchor) {
  ++events_;
  refuse_tag(mark, tag);
  if (open_.size() >= kMaxDepth) {
    refuse(mark, fmt::format("values are nested more than {} deep", kMaxDepth), "");
  }
  // A map as a key is refused before anything below it is read.
  if (!open_.empty() && tree_.nodes[open_.back().node].kind == NodeKind::map &&
      (pending_.size() - open_.back().first) % 2 == 0) {
    refuse(mark, "a key is a word, not a mapping or a list", "");
  }
  const std::uint32_t node = add(mark, kind, anchor);
  open_.push_back({.node = node, .first = pending_.size(), .anchor = anchor, .mark = mark});
}

void TreeBuilder::OnSequenceStart(const YAML::Mark& mark, const std::string& tag,
                                  YAML::anchor_t anchor, YAML::EmitterStyle::value) {
  open(mark, NodeKind::sequence, tag, anchor);
}

void TreeBuilder::OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                             YAML::EmitterStyle::value) {
  open(mark, NodeKind::map, tag, anchor);
}

void TreeBuilder::close() {
  const Open closed = open_.back();
  open_.pop_back();
  YamlNode& node = tree_.nodes[closed.node];
  const auto count = static_cast<std::uint32_t>(pending_.size() - closed.first);
  node.begin = static_cast<std::uint32_t>(tree_.children.size());
  node.size = node.kind == NodeKind::map ? count / 2 : count;
  std::uint32_t below = 0;
  for (std::size_t i = closed.first; i < pending_.size(); ++i) {
    tree_.children.push_back(pending_[i]);
    below += tree_.nodes[pending_[i]].expanded;
  }
  pending_.resize(closed.first);
  node.expanded = below + 1;
  expanded_ -= below;  // attach() counts them again as part of this node
  if (closed.anchor != 0) anchors_[closed.anchor] = closed.node;
  if (node.kind == NodeKind::map) check_duplicates(closed.node);
  attach(closed.mark, closed.node);
}

void TreeBuilder::check_duplicates(std::uint32_t map) {
  const YamlValue value(tree_, map);
  std::unordered_map<std::string_view, std::size_t> first;
  first.reserve(value.size());
  for (std::size_t i = 0; i < value.size() && problems_.size() < kMaxDuplicates; ++i) {
    const YamlValue key = value.key(i);
    const auto [found, fresh] = first.emplace(key.text(), i);
    if (fresh) continue;
    const int line = value.key(found->second).position().line;
    problems_.push_back(key.diagnostic(fmt::format("key {} is given twice", in_quotes(key.text())),
                                       fmt::format("it was first given on line {}", line)));
  }
}

}  // namespace windtunnel
