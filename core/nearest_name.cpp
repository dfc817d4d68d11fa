#include "core/nearest_name.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace windtunnel {

namespace {

constexpr std::size_t kLongestWord = 64;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Optimal string alignment distance over three rolling rows.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  using Row = std::array<std::size_t, kLongestWord + 1>;
  Row two_up{}, up{}, row{};
  for (std::size_t j = 0; j <= b.size(); ++j) up[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({up[j] + 1, row[j - 1] + 1, up[j - 1] + (same ? 0U : 1U)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], two_up[j - 2] + 1);
    }
    two_up = up;
    up = row;
  }
  return up[b.size()];
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view given,
                                        const std::vector<std::string_view>& names) {
  std::optional<std::string> best;
  std::size_t best_distance = kLongestWord;
  if (given.empty() || given.size() > kLongestWord) return best;
  for (const std::string_view name : names) {
    if (name.empty() || name.size() > kLongestWord) continue;
    const std::size_t allowed = std::max<std::size_t>(1, std::max(given.size(), name.size()) / 3);
    const std::size_t distance = edit_distance(given, name);
    if (distance <= allowed && distance < best_distance) {
      best_distance = distance;
      best = std::string(name);
    }
  }
  return best;
}

std::string join_names(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

}  // namespace windtunnel
