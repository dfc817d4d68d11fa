#pragma once
// From guarded text to a tree, on yaml-cpp's event interface.
//
// Refused: duplicate keys, a second document, explicit tags, merge keys (`<<`), keys that are not
// words, an alias inside the node it stands for, nesting beyond kMaxDepth, more than
// kMaxExpandedNodes nodes with aliases followed, and a stretch of kMaxLookahead bytes in which no
// value ends (yaml-cpp's scanner holds about 250 bytes of memory per byte it has looked ahead).

#include <cstddef>

#include "scenarios/yaml/tree.h"

namespace windtunnel {

constexpr std::size_t kMaxLookahead = std::size_t{256} << 10;

/// Throws InputError with every duplicate key, or with the first error after which the document has
/// no meaning. Time and memory are linear in the text.
YamlTree parse_yaml(const SharedText& source);

}  // namespace windtunnel
