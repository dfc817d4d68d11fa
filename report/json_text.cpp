#include "report/json_text.h"

#include <nlohmann/json.hpp>

namespace windtunnel {

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_array(const std::vector<std::string>& documents) {
  std::string text = "[";
  for (const std::string& document : documents) {
    if (text.size() > 1) text += ",\n";
    text += document;
  }
  return text + "]";
}

}  // namespace windtunnel
