#include "plan/frameworks/framework.h"

#include <array>
#include <cstdlib>
#include <utility>

namespace windtunnel {

namespace {

bool contains(const std::string& text, std::string_view word) {
  return text.find(word) != std::string::npos;
}

bool is_aleph_alpha(const Scenario& s) {
  return contains(s.stack.framework, "aleph alpha");
}
bool is_nanotron(const Scenario& s) {
  return contains(s.stack.framework, "nanotron");
}
bool is_megatron_deepspeed(const Scenario& s) {
  return contains(s.stack.framework, "megatron-deepspeed") ||
         contains(s.stack.framework, "gpt-neox");
}
bool is_deepspeed(const Scenario& s) {
  return contains(s.stack.framework, "deepspeed");
}
bool is_pytorch(const Scenario& s) {
  const std::string& f = s.stack.framework;
  return contains(f, "torchtitan") || contains(f, "fsdp") || contains(f, "automodel") ||
         contains(f, "composer") || (contains(f, "pytorch") && !contains(f, "megatron"));
}
bool is_megatron(const Scenario& s) {
  return contains(s.stack.framework, "megatron") || contains(s.stack.framework, "nemo");
}
bool always(const Scenario&) {
  return true;
}

// The first match decides; without a framework the preset names one (see framework_rules).
constexpr std::array kTable = {
    FrameworkRow{"aleph-alpha", "aleph alpha",
                 "the Megatron-style PyTorch stack of Hagemann et al. 2023", is_aleph_alpha,
                 aleph_alpha_rules},
    FrameworkRow{"nanotron", "nanotron", "Hugging Face nanotron", is_nanotron, nanotron_rules},
    FrameworkRow{"megatron-deepspeed", "megatron-deepspeed, gpt-neox",
                 "Megatron-DeepSpeed forks (2021 on)", is_megatron_deepspeed,
                 megatron_deepspeed_rules},
    FrameworkRow{"deepspeed", "deepspeed", "DeepSpeed ZeRO", is_deepspeed, deepspeed_rules},
    FrameworkRow{"pytorch", "torchtitan, fsdp, automodel, composer, pytorch without megatron",
                 "PyTorch DDP, FSDP1 and fully_shard", is_pytorch, pytorch_rules},
    FrameworkRow{"megatron-lm", "megatron, nemo",
                 "Megatron-LM, Megatron-Core, NeMo, Megatron-Bridge", is_megatron,
                 megatron_lm_rules},
    FrameworkRow{"generic", "anything else", "plain rules; recorded as an assumption", always,
                 generic_rules},
};

FrameworkRules rules_of_preset(const Scenario& s) {
  switch (s.plan.preset) {
    case Preset::megatron:
      return megatron_lm_rules(s);
    case Preset::megatron_deepspeed:
      return megatron_deepspeed_rules(s);
    case Preset::nanotron:
      return nanotron_rules(s);
    case Preset::fsdp1:
    case Preset::fsdp2:
    case Preset::ddp:
      return pytorch_rules(s);
    case Preset::deepspeed:
      return deepspeed_rules(s);
    default:
      return generic_rules(s);
  }
}

}  // namespace

std::span<const FrameworkRow> framework_table() {
  return kTable;
}

FrameworkRules framework_rules(const Scenario& s) {
  if (s.stack.framework.empty()) return rules_of_preset(s);
  for (const FrameworkRow& row : kTable) {
    if (!row.match(s)) continue;
    if (std::string_view(row.name) != "generic") return row.rules(s);
    FrameworkRules rules = rules_of_preset(s);
    rules.known = false;
    return rules;
  }
  return generic_rules(s);
}

bool stack_since(const Stack& stack, int year, int month) {
  const std::string& d = stack.date;
  if (d.size() < 4) return true;
  const int y = std::atoi(d.substr(0, 4).c_str());
  const int m = d.size() >= 7 && d[4] == '-' ? std::atoi(d.substr(5, 2).c_str()) : 1;
  return std::pair(y, m >= 1 && m <= 12 ? m : 1) >= std::pair(year, month);
}

}  // namespace windtunnel
