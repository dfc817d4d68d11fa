#pragma once
// JSON that is put together from text: a list of documents, and names as JSON strings.

#include <string>
#include <string_view>
#include <vector>

namespace windtunnel {

/// The text in quotes and escaped. Bytes that are no UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

/// "[first,\nsecond]" of complete documents.
std::string json_array(const std::vector<std::string>& documents);

}  // namespace windtunnel
