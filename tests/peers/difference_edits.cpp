#include "tests/peers/difference_edits.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/check.h"

namespace windtunnel::peers {

namespace {

std::size_t place_of(const EventList& events, const std::string& line) {
  return static_cast<std::size_t>(std::find(events.begin(), events.end(), line) - events.begin());
}

bool is_message(const std::string& line) {
  return starts_with(line, "send ") || starts_with(line, "recv ");
}

}  // namespace

EventList loss_all_reduce(EventList events, const RankContext& at) {
  if (at.has_loss && at.dp > 1) events.push_back("AR - 4 B over " + at.dp_group);
  return events;
}

EventList no_clipping(EventList events, const RankContext& at) {
  events.push_back("AR - 4 B over " + at.shard_group);
  return events;
}

EventList clip_per_parameter(EventList events, const RankContext& at) {
  for (std::string& line : events) {
    for (const char* all : {"AR - 108 B over ", "AR - 60 B over "}) {  // 27 and 15 parameters
      if (line == all + at.shard_group) line = "AR - 4 B over " + at.shard_group;
    }
  }
  return events;
}

EventList root_prefetches(EventList events, const RankContext&) {
  const auto move = [&](const std::string& gather, const std::string& before, std::size_t from) {
    const auto begin = events.begin() + static_cast<std::ptrdiff_t>(from);
    const auto found = std::find_if(begin, events.end(), [&](const std::string& line) {
      return starts_with(line, "AG " + gather + " ");
    });
    CHECK(found != events.end(), "a recorded unit is gathered");
    std::string line = std::move(*found);
    events.erase(found);
    events.insert(events.begin() + static_cast<std::ptrdiff_t>(place_of(events, before)),
                  std::move(line));
  };
  move("layers.0", "F> embedding", 0);
  move("layers.1", "F> embedding", place_of(events, "F> embedding"));
  move("layers.2", "B> head", place_of(events, "B> head"));
  return events;
}

EventList one_reduction_in_flight(EventList events, const RankContext&) {
  bool first = true;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!starts_with(events[i], "RS ") || std::exchange(first, false)) continue;
    events.insert(events.begin() + static_cast<std::ptrdiff_t>(i++), "wait_reduce");
  }
  return events;
}

EventList buckets_announced(EventList events, const RankContext&) {
  std::erase_if(events, [](const std::string& line) { return starts_with(line, "broadcast "); });
  return events;
}

EventList transfers_batched(EventList events, const RankContext&) {
  for (auto begin = events.begin(); begin != events.end();) {
    begin = std::find_if(begin, events.end(), is_message);
    const auto end = std::find_if_not(begin, events.end(), is_message);
    const bool several = end - begin > 1;
    for (; begin != end; ++begin) {
      if (several && !begin->ends_with(" batched")) *begin += " batched";
    }
  }
  return events;
}

/// Of each direction and peer the receives stay in order, behind all else.
EventList receives_posted_ahead(EventList events, const RankContext&) {
  std::map<std::string, EventList> receives;  // by "F" and the peer
  for (const std::string& line : events) {
    if (starts_with(line, "recv "))
      receives[line.substr(5, 1) + line.substr(line.rfind(' '))].push_back(line);
  }
  std::erase_if(events, [](const std::string& line) { return starts_with(line, "recv "); });
  for (const auto& [from, lines] : receives)
    events.insert(events.end(), lines.begin(), lines.end());
  return events;
}

/// Gathers and copies move behind the first forward of their stage, a gather before its copy.
EventList gathered_ahead(EventList events, const RankContext&) {
  EventList out, copies;
  for (const std::string& line : events) {
    if (starts_with(line, "AG ")) continue;
    if (starts_with(line, "copy_out ")) {
      copies.push_back(line);
      continue;
    }
    out.push_back(line);
    if (!starts_with(line, "F ")) continue;
    for (const std::string& copy : copies) {
      const std::string gather = "AG " + copy.substr(9) + " ";
      out.push_back(*std::find_if(events.begin(), events.end(), [&](const std::string& other) {
        return starts_with(other, gather);
      }));
      out.push_back(copy);
    }
    copies.clear();
  }
  return out;
}

EventList late_post_backward(EventList events, const RankContext&) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!starts_with(events[i], "reshard layers.")) continue;
    const std::string end = "B< " + events[i].substr(8);
    const std::size_t at = place_of(events, end) + 1;
    if (at >= i || !starts_with(events[i + 1], "RS ")) continue;
    std::rotate(events.begin() + static_cast<std::ptrdiff_t>(at),
                events.begin() + static_cast<std::ptrdiff_t>(i),
                events.begin() + static_cast<std::ptrdiff_t>(i) + 2);
  }
  return events;
}

EventList embedding_all_reduced(EventList events, const RankContext&) {
  const std::size_t at = place_of(events, "F< embedding") + 1;
  CHECK(at < events.size() && starts_with(events[at], "AR "), "the embedding is all-reduced");
  events[at].replace(0, 2, "RS");
  return events;
}

EventList logits_gathered(EventList events, const RankContext& at) {
  const std::size_t loss = place_of(events, "F> loss");
  CHECK(loss > 0 && loss < events.size(), "the loss is marked");
  events.erase(events.begin() + static_cast<std::ptrdiff_t>(loss) - 1);
  const std::string sum = "AR - 64 B over " + at.shard_group;  // of 16 tokens: max, target, sum
  events.insert(events.begin() + static_cast<std::ptrdiff_t>(loss), 3, sum);
  return events;
}

EventList norm_gradients_at_clip(EventList events, const RankContext& at) {
  const std::string one = "AR - 128 B over " + at.shard_group;
  const std::size_t begin = place_of(events, "B> embedding") + 1;
  for (int norm = 0; norm < 5; ++norm) {
    CHECK(events.at(begin) == one, "five norms of 32 are reduced when gradients are clipped");
    events.erase(events.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  events.insert(events.begin() + static_cast<std::ptrdiff_t>(begin),
                "AR - 640 B over " + at.shard_group);
  return events;
}

EventList partial_gradients_in_optimizer(EventList events, const RankContext& at) {
  for (int n = 0; n < 15; ++n) {
    CHECK(events.back() == "AR - 128 B over " + at.shard_group,
          "each norm is reduced three times in the optimizer");
    events.pop_back();
  }
  return events;
}

EventList reduction_actions(EventList events, const RankContext&) {
  std::erase_if(events, [](const std::string& action) { return action.ends_with("REDUCE_GRAD"); });
  return events;
}

EventList last_rank_of_the_listing(EventList events, const RankContext& at) {
  for (std::string& action : events) {
    const std::size_t f = action.find('F');
    if (at.has_loss && f != std::string::npos)
      action = action.substr(0, f + 1) + std::to_string(std::stoi(action.substr(f + 1)) - 1);
  }
  return events;
}

}  // namespace windtunnel::peers
