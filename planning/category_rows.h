#pragma once
// Bytes by category as rows of a report.

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "program/program.h"

namespace windtunnel {

using BytesByCategory = std::array<std::int64_t, static_cast<std::size_t>(Category::count)>;

/// Those that are not 0, largest first.
std::vector<std::pair<std::string, std::int64_t>> category_rows(const BytesByCategory& bytes);

}  // namespace windtunnel
