#pragma once
// The recordings under tests/peers/recordings: what PyTorch issued, by rank and section of a step.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tests/peers/event_list.h"

namespace windtunnel::peers {

using Json = nlohmann::ordered_json;

/// recordings/<name>.json.
Json load_recording(const std::string& name);

/// Sizes of the recorded toy model.
struct ToySizes {
  int layers = 0, hidden = 0, ffn = 0, heads = 0, kv_heads = 0, head_dim = 0, vocab = 0, batch = 0,
      sequence = 0;
};
/// Of a variant: its own, else the file's.
ToySizes sizes_of(const Json& file, const Json& variant);

/// What `rank` issued in the last recorded step of a variant, in the lines of `detail`.
EventList recorded_events(const Json& file, const std::string& variant, int rank, Detail detail);

}  // namespace windtunnel::peers
