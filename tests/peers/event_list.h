#pragma once
// What one rank issues in one step, as lines of one form for a recording and for a program:
//
//   AG layers.0 15488 B over 0,1    a collective: kind, unit, bytes of the full tensor, ranks
//   send F0.2 2048 B to 1           a message: direction, stage and micro-batch; bytes; peer
//   recv B0.2 2048 B from 1
//   F> layers.0   F< layers.0       a unit's compute begins and ends; B> and B< in backward
//   F 0.2   B 0.2                   an action of a pipeline: stage and micro-batch
//   copy_out x, reshard x           a gathered unit is unpacked; its whole weights are let go
//   wait_reduce                     compute waits for the reduction before
//   ready p                         the gradient of a parameter is there
//
// A unit is `-` where it is not known or not told apart.

#include <string>
#include <string_view>
#include <vector>

namespace windtunnel::peers {

using EventList = std::vector<std::string>;

inline bool starts_with(const std::string& line, std::string_view with) {
  return line.rfind(with, 0) == 0;
}

/// Which lines are compared beside collectives and messages.
enum class Detail : unsigned char {
  unit_marks,  // of every unit's compute, with what sharded weights do
  part_marks,  // the same, and of attention and MLP within a layer
  gradients,   // ready gradients
  actions,     // of a pipeline, with what sharded weights do
};

}  // namespace windtunnel::peers
