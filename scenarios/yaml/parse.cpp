#include "scenarios/yaml/parse.h"

#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <streambuf>

#include "scenarios/yaml/tree_builder.h"

namespace windtunnel {

namespace {

/// Hands the text out in blocks and ends it early when a stretch of kMaxLookahead bytes brought no
/// event: the parser then stops with its memory bounded.
class BoundedLookahead : public std::streambuf {
 public:
  BoundedLookahead(const std::string& text, const TreeBuilder& builder)
      : text_(text), builder_(builder) {}

  bool exceeded() const { return exceeded_; }
  std::size_t given() const { return given_; }

 protected:
  int_type underflow() override {
    if (builder_.events() != events_seen_) {
      events_seen_ = builder_.events();
      given_at_event_ = given_;
    }
    if (given_ - given_at_event_ > kMaxLookahead) exceeded_ = true;
    if (exceeded_ || given_ == text_.size()) return traits_type::eof();
    constexpr std::size_t kBlock = 4096;
    const std::size_t count = std::min(kBlock, text_.size() - given_);
    // std::streambuf wants a writable pointer and does not write through it when only reading.
    char* block = const_cast<char*>(text_.data()) + given_;
    setg(block, block, block + count);
    given_ += count;
    return traits_type::to_int_type(*block);
  }

 private:
  const std::string& text_;
  const TreeBuilder& builder_;
  std::size_t given_ = 0;
  std::size_t given_at_event_ = 0;
  std::size_t events_seen_ = 0;
  bool exceeded_ = false;
};

Diagnostic lookahead_problem(const SourceText& source, std::size_t given) {
  const std::string& text = source.text();
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(given);
  const auto line = 1 + std::count(text.begin(), end, '\n');
  return source.diagnostic(static_cast<int>(line), 1,
                           "no value ends within 256 KiB before this line",
                           "a bracket, a brace or a quote may be open; write long lists in block "
                           "style, one item a line");
}

/// yaml-cpp's reason as a sentence of ours: where it stands is said by the diagnostic.
Diagnostic syntax_problem(const SourceText& source, const YAML::Exception& error) {
  if (error.mark.is_null()) return source.diagnostic(0, 0, "not valid YAML: " + error.msg, "");
  const int line = error.mark.line + 1;
  const std::string start = source.excerpt(line, 1).text;
  const std::size_t indent = start.find_first_not_of(" \t");
  const bool tabbed = start.substr(0, indent).find('\t') != std::string::npos;
  return source.diagnostic(line, error.mark.column + 1, "not valid YAML: " + error.msg,
                           tabbed ? "indentation is spaces, not tabs" : "");
}

Diagnostic empty_problem(const SourceText& source) {
  return source.diagnostic(0, 0, "the file is empty",
                           "a scenario has at least model, cluster and batch");
}

}  // namespace

YamlTree parse_yaml(const SharedText& source) {
  TreeBuilder builder(source);
  BoundedLookahead bytes(source->text(), builder);
  std::istream in(&bytes);
  std::vector<Diagnostic> fatal;
  bool any = false;
  try {
    YAML::Parser parser(in);
    any = parser.HandleNextDocument(builder);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    fatal.push_back(syntax_problem(*source, error));
  } catch (const InputError& error) {
    fatal = error.diagnostics;
  }
  // What a parser makes of a text that was ended early says nothing.
  if (bytes.exceeded()) fatal = {lookahead_problem(*source, bytes.given())};
  std::vector<Diagnostic> problems = builder.take_problems();
  problems.insert(problems.end(), fatal.begin(), fatal.end());
  if (!any && problems.empty()) problems.push_back(empty_problem(*source));
  if (!problems.empty()) throw InputError(std::move(problems));
  return builder.take_tree();
}

}  // namespace windtunnel
