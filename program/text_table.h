#pragma once
// Rows of words in aligned columns: numbers to the right, words to the left.

#include <string>
#include <vector>

namespace windtunnel {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> heading);
  /// As many cells as the heading has.
  void add(std::vector<std::string> row);
  /// Lines indented by two blanks, no trailing blanks, each ended.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;  // the heading first
};

}  // namespace windtunnel
