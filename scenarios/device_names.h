#pragma once
// The names of devices that the format knows. Short forms and other spellings are hints, not
// aliases: "a100" could be either of two devices that differ in memory.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace windtunnel {

std::span<const std::string_view> device_names();

/// The known names a misspelt or shortened one may stand for: those that hold all of its words,
/// else the nearest by edit distance. May be empty.
std::vector<std::string> device_candidates(std::string_view given);

}  // namespace windtunnel
