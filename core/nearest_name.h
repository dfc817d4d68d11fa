#pragma once
// "Did you mean": the known name closest to what was written, by edit distance.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace windtunnel {

/// The name with the smallest edit distance (insert, delete, replace or swap of neighbours count
/// one each; letter case is ignored), if it is at most a third of the longer word's letters away,
/// at least one. The first of equals wins. Words over 64 bytes have no nearest name, so the cost is
/// bounded.
std::optional<std::string> nearest_name(std::string_view given,
                                        const std::vector<std::string_view>& names);

/// "a, b, c": an allowed list for a hint.
std::string join_names(const std::vector<std::string_view>& names);

}  // namespace windtunnel
