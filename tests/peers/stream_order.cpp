#include "tests/peers/stream_order.h"

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "core/check.h"
#include "program/mesh.h"

namespace windtunnel::peers {

namespace {

class StreamOrder {
 public:
  void work(const std::string& stream, const std::string& what) {
    std::string line = stream + " " + what;
    for (const auto& [other, number] : std::exchange(waits_[stream], {})) {
      if (number <= known_[{stream, other}]) continue;
      known_[{stream, other}] = number;
      line += " after " + other + " " + done_[other][static_cast<std::size_t>(number) - 1];
    }
    done_[stream].push_back(what);
    lines_.push_back(line);
  }
  /// A mark of all that `stream` was given: (stream, how many).
  std::pair<std::string, int> now(const std::string& stream) const {
    const auto found = done_.find(stream);
    return {stream, found == done_.end() ? 0 : static_cast<int>(found->second.size())};
  }
  void wait(const std::string& stream, const std::pair<std::string, int>& mark) {
    if (mark.first == stream) return;
    int& number = waits_[stream][mark.first];
    number = std::max(number, mark.second);
  }
  EventList take() { return std::move(lines_); }

 private:
  std::map<std::string, std::vector<std::string>> done_;
  std::map<std::string, std::map<std::string, int>> waits_;
  std::map<std::pair<std::string, std::string>, int> known_;
  EventList lines_;
};

std::vector<std::string> words_of(const std::string& line) {
  std::stringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::string merged(const std::string& stream) {
  return stream == "copy_in" ? "all_gather" : stream;
}

const char* name_of_stream(Stream stream) {
  switch (stream) {
    case Stream::dp_gather:
      return "all_gather";
    case Stream::dp:
      return "reduce_scatter";
    case Stream::dp_replicate:
      return "all_reduce";
    default:
      return "compute";
  }
}

class Recorded {
 public:
  EventList order(const Json& file, const std::string& variant) {
    const Json& sections = file.at("variants").at(variant).at("events").front();
    std::string last;
    for (const auto& [name, lines] : sections.items()) last = name.substr(0, name.find(' ', 5));
    for (const auto& [name, lines] : sections.items()) {
      if (!starts_with(name, last + " ")) continue;
      for (const Json& line : lines) add(words_of(line.get<std::string>()));
    }
    order_.work("compute", "optimizer");
    return order_.take();
  }

 private:
  void add(const std::vector<std::string>& words) {
    const std::string& first = words[0];
    if (first.back() == ':') return add_event(merged(first.substr(0, first.size() - 1)), words);
    if (first == "copy_out" || first == "post_backward") unit_ = words[1];
    if (first == "split_with_sizes_copy") order_.work("compute", "copy_out " + unit_);
    if (starts_with(first, "chunk_cat")) order_.work("compute", "pack " + unit_);
    if (first == "AG" || first == "RS" || first == "AR")
      order_.work(words.back().substr(1), first + " " + words[1]);
  }

  void add_event(const std::string& stream, const std::vector<std::string>& words) {
    if (words[1] == "record")
      events_[words[2]] = order_.now(stream);
    else if (words[2] == "all")
      order_.wait(stream, order_.now(merged(words.back())));
    else
      order_.wait(stream, events_.at(words[2]));
  }

  StreamOrder order_;
  std::map<std::string, std::pair<std::string, int>> events_;
  std::string unit_;
};

}  // namespace

EventList recorded_stream_order(const Json& file, const std::string& variant) {
  return Recorded().order(file, variant);
}

EventList lowered_stream_order(const Program& program, int rank) {
  const int pp = coordinates_of(dense_grid(program.mesh), rank).pp;
  const Role& role = program.roles[static_cast<std::size_t>(pp)];
  StreamOrder order;
  std::map<std::uint32_t, std::pair<std::string, int>> events;
  const auto add = [&](const Op& op) {
    const std::string stream = name_of_stream(op.stream);
    const std::string unit = op.layer >= 0 ? " layers." + std::to_string(op.layer) : " root";
    if (op.kind == OpKind::record) events[op.event] = order.now(stream);
    if (op.kind == OpKind::wait) order.wait(stream, events.at(op.event));
    if (op.phase != Phase::param_sync && op.phase != Phase::grad_sync) return;
    if (op.kind == OpKind::collective) {
      const bool gathers = op.collective == Collective::all_gather;
      const bool scatters = op.collective == Collective::reduce_scatter;
      order.work(stream, (gathers ? "AG" : scatters ? "RS" : "AR") + unit);
    }
    if (op.kind != OpKind::compute || op.stream != Stream::compute) return;
    const bool packs = program.shapes[op.shape].kernel == Kernel::pack;
    order.work(stream, (packs ? "pack" : "copy_out") + unit);
  };
  for (const Call& call : role.calls) {
    if (program.names[program.segments[call.segment].name] == "optimizer") break;
    for (const Op& op : program.ops_of(call)) {
      if (runs(op, call, 1)) add(op);
    }
  }
  order.work("compute", "optimizer");
  return order.take();
}

}  // namespace windtunnel::peers
