#include "calibrate/sample_file.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "core/diagnostics.h"

namespace windtunnel {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uintmax_t kMostBytes = std::uintmax_t{64} << 20;
constexpr const char* kFormat = "windtunnel samples";

[[noreturn]] void refuse(const std::string& file, int line, std::string message, std::string hint) {
  throw InputError({{.position = {.file = file, .line = line},
                     .message = std::move(message),
                     .hint = std::move(hint)}});
}

/// What is in the file; empty when there is none.
std::string content(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return "";
  if (!std::filesystem::is_regular_file(status)) refuse(path, 0, "is not a regular file", "");
  if (std::filesystem::file_size(path, error) > kMostBytes) refuse(path, 0, "is over 64 MiB", "");
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) refuse(path, 0, "cannot be read", "");
  return text.str();
}

std::string header(const std::string& machine) {
  return Json{{"format", kFormat}, {"version", 1}, {"machine", machine}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

SampleFile::SampleFile(std::string path, const std::string& machine) : path_(std::move(path)) {
  if (path_.empty()) return;
  const std::string text = content(path_);
  const std::size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  if (whole == 0 && !text.empty() && !header(machine).starts_with(text)) {
    refuse(path_, 1, "not a file of samples", "--samples FILE names one, or a new file");
  }
  if (whole > 0) read(text.substr(0, whole), machine);  // what is not ours is left as it is
  if (whole < text.size()) {
    std::error_code error;
    std::filesystem::resize_file(path_, whole, error);
    if (error) refuse(path_, 0, "cannot drop an unfinished line: " + error.message(), "");
  }
  if (whole == 0) append(header(machine));
}

void SampleFile::read(const std::string& text, const std::string& machine) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  const Json first = Json::parse(line, nullptr, false);
  if (!first.is_object() || first.value("format", Json()) != kFormat ||
      first.value("version", Json()) != 1) {
    refuse(path_, 1, "not a file of samples", "--samples FILE names one, or a new file");
  }
  if (line != header(machine)) {
    const Json given = first.value("machine", Json());
    refuse(path_, 1,
           "the samples are of another machine or program: " +
               (given.is_string() ? given.get<std::string>() : std::string("unnamed")),
           "this is " + machine + "; name another file with --samples");
  }
  for (int number = 2; std::getline(lines, line); ++number) {
    const Sample sample = parse_sample(line, path_, number);
    if (keys_.insert(key_of(sample)).second) samples_.push_back(sample);
  }
}

void SampleFile::add(const Sample& sample) {
  if (holds(sample)) return;
  if (!path_.empty()) append(sample_text(sample));
  keys_.insert(key_of(sample));
  samples_.push_back(sample);
}

void SampleFile::append(const std::string& line) {
  std::ofstream file(path_, std::ios::app | std::ios::binary);
  file << line << '\n' << std::flush;
  if (!file) refuse(path_, 0, "cannot be written", "a full disk, or no permission");
}

}  // namespace windtunnel
