#include "scenarios/device_names.h"

#include <algorithm>

#include "core/nearest_name.h"

namespace windtunnel {

namespace {

constexpr std::string_view kDeviceNames[] = {
    "a100-sxm-40gb",
    "a100-sxm-80gb",
    "a800-sxm-80gb",
    "h100-sxm-80gb",
    "h100-sxm-96gb-hbm2e",
    "h800-sxm-80gb",
    "h200-sxm-141gb",
    "gh200-96gb",
    "b200-sxm-180gb",
    "b300-sxm-288gb",
    "gb200-186gb",
    "gb300-288gb",
    "l40s-48gb",
    "rtx4090-24gb",
    "mi300x-192gb",
    "v100-sxm2-32gb",
    "cpu",
    "unit",
};

constexpr std::size_t kLongestGiven = 64;

/// Lower-case runs of letters and digits: "NVIDIA A100-SXM4-80GB" -> nvidia, a100, sxm4, 80gb.
std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char c : text) {
    const char low = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool letter = (low >= 'a' && low <= 'z') || (low >= '0' && low <= '9');
    if (letter && !inside) words.emplace_back();
    if (letter) words.back() += low;
    inside = letter;
  }
  std::erase(words, "nvidia");
  std::erase(words, "amd");
  return words;
}

/// A word counts as held by a name's word that it starts or that starts it: sxm4 and sxm, 80 and
/// 80gb.
bool holds(const std::vector<std::string>& name, const std::string& word) {
  return std::any_of(name.begin(), name.end(), [&](const std::string& part) {
    return part.starts_with(word) || word.starts_with(part);
  });
}

}  // namespace

std::span<const std::string_view> device_names() {
  return kDeviceNames;
}

std::vector<std::string> device_candidates(std::string_view given) {
  std::vector<std::string> found;
  if (given.size() > kLongestGiven) return found;
  const std::vector<std::string> wanted = words_in(given);
  for (const std::string_view name : kDeviceNames) {
    const std::vector<std::string> parts = words_in(name);
    const bool all = std::all_of(wanted.begin(), wanted.end(),
                                 [&](const std::string& word) { return holds(parts, word); });
    if (!wanted.empty() && all) found.emplace_back(name);
  }
  if (!found.empty()) return found;
  const std::vector<std::string_view> names(std::begin(kDeviceNames), std::end(kDeviceNames));
  if (const auto near = nearest_name(given, names)) found.push_back(*near);
  return found;
}

}  // namespace windtunnel
