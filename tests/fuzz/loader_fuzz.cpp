// Bytes to the loader. What may come back is a set whose scenarios hold what the loader promises,
// or one InputError whose text can be shown; anything else is a finding.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "models/architectures/parameters.h"
#include "scenarios/loader.h"
#include "scenarios/scenario_place.h"

namespace windtunnel {
namespace {

void expect_promises(const Scenario& s) {
  CHECK(!s.model.name.empty() || s.model.layers > 0, "a scenario without a model");
  CHECK(s.plan.tp > 0 && s.plan.pp > 0 && s.plan.cp > 0 && s.plan.ep > 0, "degrees are positive");
  CHECK(s.cluster.devices() % (std::int64_t{s.plan.tp} * s.plan.pp * s.plan.cp) == 0,
        "degrees divide the devices");
  CHECK(s.model.heads % s.model.kv_heads == 0, "heads are a multiple of kv_heads");
  CHECK(position_of(s, "batch.global").line > 0, "keys have places");
  CHECK(count_parameters(s.model).total() > 0, "parameters are countable");
}

}  // namespace
}  // namespace windtunnel

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace windtunnel;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    for (const Scenario& s : load_scenarios_text(text, "fuzz.yaml").scenarios) expect_promises(s);
  } catch (const InputError& error) {
    CHECK(!error.diagnostics.empty(), "an error says what is wrong");
    for (const Diagnostic& d : error.diagnostics) {
      CHECK(!d.message.empty() && render(d).size() < 8192, "a message is short and not empty");
    }
  }
  return 0;
}
