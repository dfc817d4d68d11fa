#pragma once
// The text of one file, guarded before anything parses it.
//
// The size is read from the file system, so a file over the limit is refused unread; then the bytes
// must be UTF-8 without control characters (NUL among them), which is what YAML allows in a stream.
// Lines are counted at "\n"; columns are bytes and start at 1.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics.h"

namespace windtunnel {

/// The published sets are below 1 MiB each.
constexpr std::size_t kMaxSourceBytes = std::size_t{16} << 20;

class SourceText {
 public:
  /// Precondition: `text` passed the guard of `guarded_text`.
  SourceText(std::string file, std::string text);

  const std::string& file() const { return file_; }
  const std::string& text() const { return text_; }

  /// The line without its end, cut to a window around `column` when it is long; empty when there is
  /// no such line.
  struct Excerpt {
    std::string text;
    int offset = 0;  // bytes cut off in front
  };
  Excerpt excerpt(int line, int column) const;

  /// A diagnostic at a place of this text, with its line for the caret.
  Diagnostic diagnostic(int line, int column, std::string message, std::string hint) const;

 private:
  std::string_view line_at(int line) const;

  std::string file_;
  std::string text_;
  std::vector<std::uint32_t> starts_;  // where every 256th line starts
};

using SharedText = std::shared_ptr<const SourceText>;

/// Throws InputError: larger than kMaxSourceBytes, not UTF-8, a control character. A byte order
/// mark at the start is dropped.
SharedText guarded_text(std::string file, std::string_view text);

/// Throws InputError also when the path is missing, is not a regular file or cannot be read.
SharedText read_source(const std::string& path);

}  // namespace windtunnel
