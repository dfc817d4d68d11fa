#include "planning/category_rows.h"

#include <algorithm>

#include "program/op_names.h"

namespace windtunnel {

std::vector<std::pair<std::string, std::int64_t>> category_rows(const BytesByCategory& bytes) {
  std::vector<std::pair<std::string, std::int64_t>> rows;
  for (std::size_t c = 0; c < bytes.size(); ++c) {
    if (bytes[c] > 0) rows.emplace_back(name_of(static_cast<Category>(c)), bytes[c]);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return rows;
}

}  // namespace windtunnel
