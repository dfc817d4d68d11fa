#pragma once
// A parsed YAML document as a compact tree that keeps the place of every key and value.
//
// Nodes live in one array and name each other by index; an alias is the index of the node it stands
// for, so sharing costs nothing, and `expanded` counts what a walk over a node visits with every
// alias followed. The sum over a document and everything merged from it is bounded by
// `kMaxExpandedNodes`, which bounds every walk. There are no cycles.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/yaml/source_text.h"

namespace windtunnel {

/// A published row has about 90 nodes, keys counted: 16 MiB of such rows stay below this.
constexpr std::uint32_t kMaxExpandedNodes = 2'000'000;
constexpr int kMaxDepth = 64;

enum class NodeKind : std::uint8_t { null, scalar, sequence, map };

struct YamlNode {
  NodeKind kind = NodeKind::null;
  bool plain = false;  // a scalar without quotes
  int line = 0;
  int column = 0;
  std::uint32_t begin = 0;     // scalar: offset into `characters`; else: offset into `children`
  std::uint32_t size = 0;      // scalar: bytes; sequence: items; map: entries (two children each)
  std::uint32_t expanded = 1;  // nodes below and with this one, aliases followed
};

struct YamlTree {
  SharedText source;
  std::vector<YamlNode> nodes;
  std::vector<std::uint32_t> children;
  std::string characters;
  std::uint32_t root = 0;
};

/// A place in a tree: what readers hold. Valid while the tree lives and is not added to.
class YamlValue {
 public:
  YamlValue(const YamlTree& tree, std::uint32_t index) : tree_(&tree), index_(index) {}

  NodeKind kind() const { return node().kind; }
  bool is_map() const { return kind() == NodeKind::map; }
  bool is_sequence() const { return kind() == NodeKind::sequence; }
  bool is_scalar() const { return kind() == NodeKind::scalar; }
  bool plain() const { return node().plain; }
  std::uint32_t index() const { return index_; }
  const YamlTree& tree() const { return *tree_; }

  std::size_t size() const { return node().size; }
  /// A scalar's characters, unquoted; empty for other kinds.
  std::string_view text() const;
  /// Precondition: a sequence, i < size().
  YamlValue item(std::size_t i) const;
  /// Precondition: a map, i < size().
  YamlValue key(std::size_t i) const;
  YamlValue value(std::size_t i) const;
  /// The value of a map's key; linear in the map's size.
  std::optional<YamlValue> find(std::string_view key) const;

  SourcePosition position() const;
  Diagnostic diagnostic(std::string message, std::string hint) const;
  /// "a mapping", "a list", "\"text\"", "nothing": how a message names this value.
  std::string described() const;

 private:
  const YamlNode& node() const { return tree_->nodes[index_]; }
  YamlValue child(std::size_t i) const { return {*tree_, tree_->children[node().begin + i]}; }

  const YamlTree* tree_;
  std::uint32_t index_;
};

}  // namespace windtunnel
