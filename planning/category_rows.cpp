#include "planning/category_rows.h"

#include <algorithm>

namespace windtunnel {

namespace {

constexpr std::array<const char*, static_cast<std::size_t>(Category::count)> kCategoryNames{
    "weights", "grads",     "master_weights", "optimizer_states", "activations", "norm_stats",
    "logits",  "workspace", "comm_buffers",   "inputs",           "scalars",     "unsharded"};

}  // namespace

std::vector<std::pair<std::string, std::int64_t>> category_rows(const BytesByCategory& bytes) {
  std::vector<std::pair<std::string, std::int64_t>> rows;
  for (std::size_t c = 0; c < bytes.size(); ++c) {
    if (bytes[c] > 0) rows.emplace_back(kCategoryNames[c], bytes[c]);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return rows;
}

}  // namespace windtunnel
