#include "tests/sim/engine/random_program.h"

#include <array>

#include "core/counter_random.h"

namespace windtunnel::toy {

namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  /// 0 <= result < sides
  int roll(int sides) {
    return static_cast<int>(counter_hash(seed_, count_++) % static_cast<std::uint64_t>(sides));
  }
  Picoseconds cost() { return 1 + static_cast<Picoseconds>(roll(5'000'000)); }

 private:
  std::uint64_t seed_;
  std::uint64_t count_ = 0;
};

/// Communicators and events of the random bodies. Communicators are the first after the pipeline's
/// two; every role has the same events.
struct Body {
  std::vector<std::uint32_t> comms{2, 3, 4, 5};
  std::uint32_t frame_event = 2, static_event = 3;
};

constexpr std::array kSides = {Stream::tp, Stream::dp, Stream::to_host};

/// The same ops on every role, chunk and direction would hide mistakes: each gets its own, but the
/// collectives of all members of a group come from one roll, as roles share no communicator here.
void write_body(Toy& toy, Dice& dice, const Body& body) {
  const int ops = 3 + dice.roll(8);
  toy.compute(dice.cost());
  bool recorded = false;
  for (int k = 0; k < ops; ++k) {
    const Stream side = kSides[static_cast<std::size_t>(dice.roll(3))];
    const std::uint32_t comm = body.comms[static_cast<std::size_t>(dice.roll(4))];
    const std::uint32_t event = dice.roll(2) == 0 ? body.frame_event : body.static_event;
    Op* op = nullptr;
    switch (dice.roll(9)) {
      case 0:
      case 1:
        op = &toy.compute(dice.cost());
        op->launches = static_cast<std::uint8_t>(1 + dice.roll(3));
        break;
      case 2:
        op = &toy.collective(comm, dice.cost());
        break;
      case 3:
        op = &toy.collective(comm, dice.cost(), side);
        op->launches = static_cast<std::uint8_t>(dice.roll(2));
        break;
      case 4:
        op = &toy.add({.kind = OpKind::compute, .stream = side, .launches = 1}, dice.cost());
        break;
      case 5:
        toy.record(event, dice.roll(2) == 0 ? side : Stream::compute);
        recorded = true;
        break;
      case 6:
        toy.wait(event, dice.roll(2) == 0 ? side : Stream::compute);
        break;
      case 7:
        toy.host_work(dice.cost(), dice.roll(2) == 0 ? Module::data : Module::none);
        break;
      case 8:
        if (recorded) toy.add({.kind = OpKind::host_sync, .event = event});
        break;
    }
    if (op != nullptr && dice.roll(5) == 0) op->when = When::not_first_micro_batch;
  }
  toy.compute(dice.cost());
}

void write_finish(Toy& toy, Dice& dice, std::uint32_t world, std::uint32_t embedding) {
  const int roles = toy.program.mesh.pp;
  const Stream stream = dice.roll(2) == 0 ? Stream::compute : Stream::dp;
  const Picoseconds cost = dice.cost();
  const std::uint32_t done = 3;
  for (int role = 0; role < roles; ++role) {
    const auto finish = toy.segment("finish");
    if (role == 0 || role == roles - 1) toy.collective(embedding, cost, stream);
    toy.compute(dice.cost());
    toy.collective(world, cost, stream);
    toy.record(done, stream);
    toy.wait(done, Stream::compute);
    toy.compute(dice.cost());
    toy.call(role, finish);
  }
}

}  // namespace

Toy random_program(std::uint64_t seed) {
  Dice dice(seed);
  PipelineSpec spec;
  spec.order = static_cast<Order>(dice.roll(3));
  spec.stages = 1 + dice.roll(3);
  spec.chunks = spec.order == Order::interleaved && spec.stages > 1 ? 2 : 1;
  if (spec.chunks == 1 && spec.order == Order::interleaved) spec.order = Order::one_f_one_b;
  spec.micro_batches = spec.stages * (1 + dice.roll(2));
  spec.hop = dice.cost() / 4;
  spec.tp = 1 + dice.roll(3);
  spec.cp = 1 + dice.roll(2);
  spec.dp = 1 + dice.roll(3);
  const Body body;
  spec.body = [&](Toy& toy, int, int, bool) { write_body(toy, dice, body); };
  const bool batched = spec.order == Order::one_f_one_b && dice.roll(2) == 0;
  const Batches where = dice.roll(2) == 0 ? Batches::on_compute : Batches::on_side;
  Toy toy = batched ? batched_1f1b(spec, where) : pipeline(spec);
  toy.program.mesh.order = dice.roll(2) == 0
                               ? std::array{kAxisTp, kAxisCp, kAxisEp, kAxisDp, kAxisPp}
                               : std::array{kAxisCp, kAxisTp, kAxisPp, kAxisDp, kAxisEp};
  toy.comm("tp", kAxisTp);
  toy.comm("cp", kAxisCp);
  toy.comm("dp", kAxisDp);
  toy.comm("dp_cp", kAxisDp | kAxisCp);
  const auto world = toy.comm("world", kAxisTp | kAxisCp | kAxisDp | kAxisPp);
  const auto embedding = toy.comm("embedding", kAxisPp);
  toy.program.comms[embedding].stage_pair = 0;
  for (int role = 0; role < spec.stages; ++role) {
    toy.event(role, true);
    toy.event(role, false);
  }
  write_finish(toy, dice, world, embedding);
  toy.costs.launch = {dice.roll(2) == 0 ? 0 : dice.cost() / 2};
  toy.costs.run_ahead = dice.roll(2) == 0 ? 0 : 1 + dice.roll(30);
  return toy;
}

}  // namespace windtunnel::toy
