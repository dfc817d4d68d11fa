#pragma once
// Builds a YamlTree from yaml-cpp's events, with the limits of parse.h.

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>

#include <cstddef>
#include <string>
#include <vector>

#include "scenarios/yaml/tree.h"

namespace windtunnel {

class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(SharedText source);

  /// Precondition: the document ended.
  YamlTree take_tree() { return std::move(tree_); }
  std::vector<Diagnostic> take_problems() { return std::move(problems_); }
  /// Events so far; shows that the parser gets on.
  std::size_t events() const { return events_; }

  void OnDocumentStart(const YAML::Mark& mark) override;
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override;
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override;
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    std::uint32_t node;
    std::size_t first;  // where its children start in `pending_`
    YAML::anchor_t anchor;
    YAML::Mark mark;
  };

  [[noreturn]] void refuse(const YAML::Mark& mark, std::string message, std::string hint) const;
  std::uint32_t add(const YAML::Mark& mark, NodeKind kind, YAML::anchor_t anchor);
  void open(const YAML::Mark& mark, NodeKind kind, const std::string& tag, YAML::anchor_t anchor);
  void close();
  void attach(const YAML::Mark& mark, std::uint32_t node);
  void check_key(const YAML::Mark& mark, std::uint32_t node) const;
  void check_duplicates(std::uint32_t map);
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const;

  YamlTree tree_;
  std::vector<Diagnostic> problems_;
  std::vector<Open> open_;
  std::vector<std::uint32_t> pending_;
  std::vector<std::uint32_t> anchors_;  // node of an anchor; kOpenAnchor while it is being read
  std::uint64_t expanded_ = 0;          // of everything attached so far
  std::size_t events_ = 0;
  std::size_t documents_ = 0;
};

}  // namespace windtunnel
