#include "plan/activation_offload.h"

#include <cmath>
#include <set>
#include <utility>

#include "plan/host_copy.h"
#include "program/slot_part.h"

namespace windtunnel {

namespace {

constexpr std::size_t kMostCopied = kMostOperands / 2;  // by one op

void insert(SegmentDraft& segment, const std::map<std::size_t, std::vector<DraftOp>>& inserts) {
  std::vector<DraftOp> ops;
  for (std::size_t i = 0; i <= segment.ops.size(); ++i) {
    if (const auto here = inserts.find(i); here != inserts.end())
      ops.insert(ops.end(), here->second.begin(), here->second.end());
    if (i < segment.ops.size()) ops.push_back(segment.ops[i]);
  }
  segment.ops = std::move(ops);
}

/// Drafts into a list of its own.
template <class Body>
std::vector<DraftOp> drafted(RoleDraft& d, const std::pair<Phase, std::int16_t>& scope, Body body) {
  SegmentDraft apart;
  SegmentDraft* const before = std::exchange(d.segment, &apart);
  {
    const DraftScope in(d, scope.first, scope.second);
    body();
  }
  d.segment = before;
  return std::move(apart.ops);
}

}  // namespace

const ActivationOffload::Way ActivationOffload::kOut = {.phase = Phase::forward,
                                                        .kernel = Kernel::to_host,
                                                        .stream = Stream::to_host,
                                                        .ready = "activations_made",
                                                        .from = &Group::device,
                                                        .to = &Group::host,
                                                        .copied = &Layer::left};
const ActivationOffload::Way ActivationOffload::kBack = {.phase = Phase::backward,
                                                         .kernel = Kernel::to_device,
                                                         .stream = Stream::to_device,
                                                         .ready = "room_made",
                                                         .from = &Group::host,
                                                         .to = &Group::back,
                                                         .copied = &Layer::returned};

void ActivationOffload::place(SegmentDraft& forward, SegmentDraft& backward,
                              const std::vector<LayerSpan>& layers) {
  const auto n = static_cast<std::size_t>(
      std::llround(d_.plan().offload_activations * static_cast<double>(layers.size())));
  if (n == 0) return;
  for (std::size_t i = 0; i < n; ++i) layers_.push_back({.span = layers[i], .groups = {}});
  collect(forward, backward, layers);
  Inserts out, in;
  for (std::size_t i = 0; i < n; ++i) {
    const Layer& layer = layers_[i];
    // Awaited at the end of the next layer, in front of that one's own copies.
    const std::size_t waits = i + 1 < layers.size() ? i + 1 : i;
    std::vector<DraftOp>& sends = out[layer.span.forward_end];
    const std::vector<DraftOp> sent = copies(layer, kOut);
    sends.insert(sends.end(), sent.begin(), sent.end());
    std::vector<DraftOp>& at = out[layers[waits].forward_end];
    std::vector<DraftOp> waiting = awaited(layer, kOut);
    at.insert(waits == i ? at.end() : at.begin(), waiting.begin(), waiting.end());
    // Issued when the next layer is entered, behind the wait for that one's own tensors.
    std::vector<DraftOp>& issue = in[layers[waits].backward_begin];
    std::vector<DraftOp>& entry = in[layer.span.backward_begin];
    const std::vector<DraftOp> returned = copies(layer, kBack);
    waiting = awaited(layer, kBack);
    entry.insert(entry.begin(), waiting.begin(), waiting.end());
    issue.insert(waits == i ? issue.begin() : issue.end(), returned.begin(), returned.end());
  }
  rename(backward);
  insert(forward, out);
  insert(backward, in);
}

/// Tensors that forward uses and backward reads, by the first layer that reads them: a layer keeps
/// its input, which the one before made.
void ActivationOffload::collect(const SegmentDraft& forward, const SegmentDraft& backward,
                                const std::vector<LayerSpan>& layers) {
  std::set<SlotId> made, seen;
  for (const DraftOp& op : forward.ops) {
    for (const SlotId id : op.operands) made.insert(root_of(d_.role, id));
  }
  for (std::size_t l = layers.size(); l-- > 0;) {
    for (std::size_t i = layers[l].backward_begin; i < layers[l].backward_end; ++i) {
      const DraftOp& op = backward.ops[i];
      for (std::size_t k = 0; k < op.op.inputs; ++k) {
        const SlotId root = root_of(d_.role, op.operands.begin()[k]);
        if (!seen.insert(root).second || !made.contains(root)) continue;
        if (l < layers_.size()) add(layers_[l], root);
      }
    }
  }
  for (Layer& layer : layers_) {
    layer.left = d_.event("activations_left", false);
    layer.returned = d_.event("activations_returned", false);
  }
}

void ActivationOffload::add(Layer& layer, SlotId id) {
  const Slot kept = d_.slot(id);
  const bool saved =
      kept.category == Category::activations || kept.category == Category::norm_stats;
  if (!saved || kept.chunk != d_.chunk || kept.space == Space::statics ||
      d_.placed_by_hand.contains(id))
    return;
  const bool mask = kept.dtype == Dtype::uint8;
  Group* group = nullptr;
  for (Group& g : layer.groups) {
    const bool of_kind = (d_.slot(*g.device.begin()).dtype == Dtype::uint8) == mask;
    if (of_kind && g.device.size() < kMostCopied) group = &g;
  }
  if (group == nullptr) group = &layer.groups.emplace_back();
  const std::string name = d_.writer.program.names[kept.name];
  const auto like = [&](const std::string& called) {
    const SlotId same = d_.tensor(called, kept.elements, kept.dtype, kept.category);
    d_.slot(same).layer = kept.layer;
    return same;
  };
  const SlotId host = like("host_" + name), back = like(name);
  d_.slot(host).host = true;
  group->device.push_back(id);
  group->host.push_back(host);
  group->back.push_back(back);
  returned_[id] = back;
}

std::vector<DraftOp> ActivationOffload::copies(const Layer& layer, const Way& way) {
  return drafted(d_, {way.phase, layer.span.layer}, [&] {
    d_.order({.to = way.stream, .event = way.ready});
    for (const Group& g : layer.groups) {
      const OperandList& from = g.*way.from;
      copy_across(d_, {.kernel = way.kernel, .launches = from.size(), .stream = way.stream}, from,
                  g.*way.to);
    }
    d_.record(layer.*way.copied, way.stream);
  });
}

/// What was copied is given back behind it.
std::vector<DraftOp> ActivationOffload::awaited(const Layer& layer, const Way& way) {
  return drafted(d_, {way.phase, layer.span.layer}, [&] {
    d_.wait(layer.*way.copied, Stream::compute);
    for (const Group& g : layer.groups) {
      for (const SlotId id : g.*way.from) d_.hold(id);
    }
  });
}

void ActivationOffload::rename(SegmentDraft& backward) {
  const auto all = [&](OperandList& list) {
    OperandList now;
    for (const SlotId id : list) now.push_back(renamed(id));
    list = now;
  };
  for (DraftOp& op : backward.ops) {
    all(op.operands);
    all(op.holds);
  }
}

SlotId ActivationOffload::renamed(SlotId id) {
  if (!returned_.contains(root_of(d_.role, id))) return id;
  if (const auto known = returned_.find(id); known != returned_.end()) return known->second;
  Slot view = d_.slot(id);
  view.parent = renamed(view.parent);
  d_.role.slots.push_back(view);
  return returned_[id] = static_cast<SlotId>(d_.role.slots.size() - 1);
}

}  // namespace windtunnel
