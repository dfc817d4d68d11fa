#include "scenarios/yaml/source_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "scenarios/yaml/utf8.h"

namespace windtunnel {

namespace {

constexpr int kLinesPerMark = 256;
constexpr int kExcerptBytes = 160;

[[noreturn]] void refuse(SourcePosition where, std::string message, std::string hint) {
  throw InputError({Diagnostic{.position = std::move(where),
                               .message = std::move(message),
                               .hint = std::move(hint),
                               .source_line = {}}});
}

[[noreturn]] void refuse_size(const std::string& file, std::uintmax_t bytes) {
  refuse({.file = file}, fmt::format("the file has {} bytes; more than 16 MiB is not read", bytes),
         "split a set into several files");
}

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

}  // namespace

SourceText::SourceText(std::string file, std::string text)
    : file_(std::move(file)), text_(std::move(text)) {
  starts_.push_back(0);
  int line = 0;
  for (std::size_t at = text_.find('\n'); at != std::string::npos; at = text_.find('\n', at + 1)) {
    if (++line % kLinesPerMark == 0) starts_.push_back(static_cast<std::uint32_t>(at + 1));
  }
}

std::string_view SourceText::line_at(int line) const {
  const auto mark = static_cast<std::size_t>((line - 1) / kLinesPerMark);
  if (line < 1 || mark >= starts_.size()) return {};
  std::size_t begin = starts_[mark];
  for (int skip = (line - 1) % kLinesPerMark; skip > 0; --skip) {
    const std::size_t end = text_.find('\n', begin);
    if (end == std::string::npos) return {};
    begin = end + 1;
  }
  const std::size_t end = std::min(text_.find('\n', begin), text_.size());
  std::string_view found = std::string_view(text_).substr(begin, end - begin);
  while (!found.empty() && found.back() == '\r') found.remove_suffix(1);
  return found;
}

SourceText::Excerpt SourceText::excerpt(int line, int column) const {
  const std::string_view whole = line_at(line);
  const int size = static_cast<int>(whole.size());
  int begin = 0;
  int end = size;
  if (size > kExcerptBytes) {
    begin = std::clamp(column - 1 - kExcerptBytes / 2, 0, size - kExcerptBytes);
    end = begin + kExcerptBytes;
    while (begin < end && continues(whole[static_cast<std::size_t>(begin)])) ++begin;
    while (end < size && continues(whole[static_cast<std::size_t>(end)])) ++end;
  }
  Excerpt cut{.text = std::string(whole.substr(static_cast<std::size_t>(begin),
                                               static_cast<std::size_t>(end - begin))),
              .offset = begin};
  std::replace(cut.text.begin(), cut.text.end(), '\r', ' ');
  return cut;
}

Diagnostic SourceText::diagnostic(int line, int column, std::string message,
                                  std::string hint) const {
  Excerpt cut = excerpt(line, column);
  return {.position = {.file = file_, .line = line, .column = column},
          .message = std::move(message),
          .hint = std::move(hint),
          .source_line = std::move(cut.text),
          .line_offset = cut.offset};
}

SharedText guarded_text(std::string file, std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.size() > kMaxSourceBytes) refuse_size(file, text.size());
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (const auto bad = first_bad_character(text)) {
    const std::string_view before = text.substr(0, bad->offset);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
    refuse({.file = std::move(file),
            .line = static_cast<int>(line),
            .column = static_cast<int>(bad->offset - line_start) + 1},
           bad->message, "scenario files are UTF-8 text");
  }
  return std::make_shared<const SourceText>(std::move(file), std::string(text));
}

SharedText read_source(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (path.find('\0') != std::string::npos || !fs::exists(status)) {
    refuse({.file = path}, "no such file", "");
  }
  if (fs::is_directory(status)) refuse({.file = path}, "is a folder, not a file", "");
  if (!fs::is_regular_file(status)) refuse({.file = path}, "is not a regular file", "");
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (error) refuse({.file = path}, "cannot be read: " + error.message(), "");
  if (bytes > kMaxSourceBytes) refuse_size(path, bytes);
  std::ifstream in(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(bytes), '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(bytes))) {
    refuse({.file = path}, std::string("cannot be read: ") + std::strerror(errno), "");
  }
  return guarded_text(path, text);
}

}  // namespace windtunnel
