#include "tests/peers/recordings.h"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "core/check.h"

namespace windtunnel::peers {

namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::stringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

bool holds(const std::string& ranks, int rank) {
  for (const std::string& r : split(ranks, ',')) {
    if (std::stoi(r) == rank) return true;
  }
  return false;
}

const Json& of_rank(const Json& by_rank, int rank) {
  const Json* found = nullptr;
  for (const auto& [ranks, value] : by_rank.items()) {
    if (holds(ranks, rank)) found = &value;
  }
  CHECK(found != nullptr, "every rank is recorded");
  return *found;
}

int bytes_of_element(const std::string& dtype) {
  static const std::map<std::string, int> kBytes{{"f32", 4}, {"bf16", 2}, {"i64", 8},
                                                 {"i32", 4}, {"u8", 1},   {"f64", 8}};
  return kBytes.at(dtype);
}

class Reader {
 public:
  Reader(const Json& file, const Json& variant, int rank, Detail detail)
      : detail_(detail), variant_(variant), sections_(of_rank(variant.at("events"), rank)) {
    for (const Json* groups : {&file, &variant}) {
      if (!groups->contains("groups")) continue;
      for (const auto& [name, list] : groups->at("groups").items()) {
        for (const Json& ranks : list) {
          if (holds(ranks.get<std::string>(), rank)) ranks_of_[name] = ranks;
        }
      }
    }
  }

  EventList last_step() {
    std::string last;  // "step 1"
    for (const auto& [name, lines] : sections_.items()) {
      if (starts_with(name, "step ")) last = name.substr(0, name.find(' ', 5));
    }
    if (detail_ == Detail::gradients) buckets_ = buckets_of(last.substr(5));
    for (const auto& [name, lines] : sections_.items()) {
      if (name != last && !starts_with(name, last + " ")) continue;
      for (const Json& line : lines_of(name)) add(line.get<std::string>());
    }
    return events_;
  }

 private:
  const Json& lines_of(const std::string& section) const {
    const Json& lines = sections_.at(section);
    if (lines.empty() || !starts_with(lines[0].get<std::string>(), "same as ")) return lines;
    return lines_of(lines[0].get<std::string>().substr(8));
  }

  /// Buckets of a step, in the order they are reduced.
  Json buckets_of(const std::string& step) const {
    const Json& buckets = variant_.at("buckets_step_" + step);
    return buckets.is_string() ? buckets_of(buckets.get<std::string>().substr(13)) : buckets;
  }

  std::string ranks_of(const std::string& group) const {
    const auto named = ranks_of_.find(group);
    return named == ranks_of_.end() ? group : named->second;
  }

  void add(const std::string& line) {
    const std::vector<std::string> words = split(line, ' ');
    const std::string& kind = words[0];
    const bool units = detail_ == Detail::unit_marks || detail_ == Detail::actions;
    if (kind == "send" || kind == "recv") {
      add_message(words);
    } else if (kind == "AG" || kind == "RS" || kind == "AR" || kind == "broadcast") {
      events_.push_back(fmt::format("{} {} {} B over {}", kind, words[1],
                                    std::stoll(words[2]) * bytes_of_element(words[3]),
                                    ranks_of(words[4])));
      if (kind == "AR" && detail_ == Detail::gradients) add_contents();
    } else if (kind == "copy_out" || kind == "wait_reduce") {
      if (units) events_.push_back(line);
    } else if (kind == "reshard") {
      // "kept" names a unit that stays whole, "to the smaller mesh" one of which a part does.
      if (units && words.back() != "kept") events_.push_back("reshard " + words[1]);
    } else if (kind == "ready") {
      if (detail_ == Detail::gradients) events_.push_back(line);
    } else if (kind == "F>" || kind == "F<" || kind == "B>" || kind == "B<") {
      if (detail_ == Detail::unit_marks || detail_ == Detail::part_marks) events_.push_back(line);
    } else if (kind == "F" || kind == "B") {
      events_.push_back(kind + " " + words[1]);
    }
  }

  /// Of the bucket that is reduced.
  void add_contents() {
    const Json& bucket = buckets_.at(bucket_++ % buckets_.size());
    events_.back() += ": " + bucket.at("parameters").get<std::string>();
  }

  void add_message(const std::vector<std::string>& words) {
    const std::vector<std::string> group = split(ranks_of(words[4]), ',');
    const auto place = static_cast<std::size_t>(std::stoi(words[5].substr(5)));
    events_.push_back(fmt::format("{} {} {} B {} {}", words[0], words[1],
                                  std::stoll(words[2]) * bytes_of_element(words[3]),
                                  words[0] == "send" ? "to" : "from", group[place]));
    if (words.back() == "batched") events_.back() += " batched";
  }

  Detail detail_;
  const Json& variant_;
  const Json& sections_;
  Json buckets_;
  std::size_t bucket_ = 0;
  std::map<std::string, std::string> ranks_of_;
  EventList events_;
};

}  // namespace

Json load_recording(const std::string& name) {
  std::ifstream in(WINDTUNNEL_SOURCE_DIR "/tests/peers/recordings/" + name + ".json");
  CHECK(in.good(), "the recording is there: " + name);
  return Json::parse(in);
}

ToySizes sizes_of(const Json& file, const Json& variant) {
  const Json options = variant.value("options", Json::object());
  const std::string text = options.value("sizes", file.at("model").get<std::string>());
  const auto size = [&](const std::string& name) {
    std::smatch found;
    CHECK(std::regex_search(text, found, std::regex("\\b" + name + "=(\\d+)")),
          "a size has a name");
    return std::stoi(found[1]);
  };
  return {.layers = size("layers"),
          .hidden = size("hidden"),
          .ffn = size("ffn"),
          .heads = size("heads"),
          .kv_heads = size("kv_heads"),
          .head_dim = size("head_dim"),
          .vocab = size("vocab"),
          .batch = size("batch"),
          .sequence = size("sequence")};
}

EventList recorded_events(const Json& file, const std::string& variant, int rank, Detail detail) {
  return Reader(file, file.at("variants").at(variant), rank, detail).last_step();
}

}  // namespace windtunnel::peers
