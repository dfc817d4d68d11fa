#include "cli/verb.h"

namespace windtunnel {

namespace {

constexpr Option kCheckOptions[] = {Option::file, Option::json, Option::id};
constexpr Option kCompareOptions[] = {Option::two_steps, Option::json,  Option::id,
                                      Option::limits,    Option::trace, Option::trace_sides};
constexpr Option kPlanOptions[] = {Option::file, Option::json, Option::id, Option::view};
constexpr Option kSimulateOptions[] = {Option::file, Option::json,  Option::id,    Option::trace,
                                       Option::seed, Option::draws, Option::jitter};
constexpr Option kRunOptions[] = {Option::file,       Option::json,   Option::id,
                                  Option::trace,      Option::seed,   Option::steps,
                                  Option::hang_after, Option::verify, Option::emulate};
constexpr Option kRehearseOptions[] = {Option::file,      Option::json,       Option::id,
                                       Option::rehearsal, Option::hang_after, Option::seed,
                                       Option::limits,    Option::trace};
constexpr Option kCalibrateOptions[] = {Option::calibration};
constexpr Option kValidateOptions[] = {Option::paths, Option::json};

constexpr Verb kVerbs[] = {
    {"check", "Does it parse, divide and fit into memory?",
     "Needs no clock: allocations are replayed in the order the host makes them.\n"
     "Exit status: 0 fits (also when tight), 1 does not fit, 2 bad usage or input.\n\n"
     "  windtunnel check scenarios/training/gpt3-175b-64a100.yaml",
     kCheckOptions, run_check},
    {"compare", "How do two steps differ, and by how much?",
     "A and B are what `simulate --json` or a run wrote, or scenarios (.yaml, .yml), which are\n"
     "simulated. A is the reference: differences are B - A, relative ones against A. Two sets are\n"
     "matched by id. Exit status: 0 ok, 1 over a limit, 2 bad usage or input.\n\n"
     "  windtunnel compare a.yaml b.yaml            what if?\n"
     "  windtunnel compare run.json s.yaml --max-step-error 10%   how far is the prediction?\n"
     "  windtunnel compare a.yaml b.yaml --trace both.json   side by side in Perfetto",
     kCompareOptions, run_compare},
    {"plan", "What will every rank do?",
     "Prints groups, the layout of each stage, collectives per step and the step x rank grid.\n"
     "Exit status: 0 ok, 2 bad usage or input.\n\n"
     "  windtunnel plan S.yaml --resolved      every value and where it comes from\n"
     "  windtunnel plan S.yaml --ops --rank 3  the ops of one rank, one a line",
     kPlanOptions, run_plan},
    {"simulate", "How long is a step, where does the time go, how much memory?",
     "Exit status: 0 ok, 1 does not fit into memory, 2 bad usage or input.\n\n"
     "  windtunnel simulate S.yaml --trace step.json   opens in https://ui.perfetto.dev",
     kSimulateOptions, run_simulate},
    {"run", "What does a step really take on this machine?",
     "Executes the plan on the CPU device, a process per rank, and reports the median step in the\n"
     "words of a simulation: compare holds the two against each other.\n"
     "Exit status: 0 ok, 1 --verify found a difference, 2 bad usage or input, 3 no MPI, 4 a rank\n"
     "died or hung.\n\n"
     "  windtunnel run S.yaml --steps 10 --json > run.json\n"
     "  windtunnel run S.yaml --emulate cpu.profile.json   real transfers, kernels only take time",
     kRunOptions, run_run},
    {"calibrate", "How fast is this machine at what the scenarios need?",
     "Measures the CPU: the scenarios' own kernels first, then a grid around them, until the\n"
     "budget is used up. Writes a profile, which a scenario takes with `profile: PATH`.\n"
     "Exit status: 0 ok, 2 bad usage or input, 3 no MPI, 4 a rank died or hung.\n\n"
     "  windtunnel calibrate --for S.yaml --budget 60s -o cpu.profile.json\n"
     "  windtunnel calibrate show cpu.profile.json    errors of the fits, what is extrapolated",
     kCalibrateOptions, run_calibrate},
    {"rehearse", "Is the prediction right on this machine?",
     "Calibrates the CPU for the scenario, simulates it, executes it, and compares the two: A is\n"
     "the run, B the prediction. Calibration and steps take turns, since machines change speed.\n"
     "Exit status: 0 ok, 1 over a limit, 2 bad usage or input, 3 no MPI, 4 a rank died or hung.\n\n"
     "  windtunnel rehearse scenarios/training/laptop-tp2.yaml --max-step-error 10%",
     kRehearseOptions, run_rehearse},
    {"validate", "How far are predictions from what was measured?",
     "Prints a row per scenario and a summary per source and overall.\n"
     "Exit status: 0 ok, 2 bad usage or input, or a scenario that cannot be lowered.\n\n"
     "  windtunnel validate measured/ extra.yaml",
     kValidateOptions, run_validate},
};

}  // namespace

std::span<const Verb> verb_table() {
  return kVerbs;
}

}  // namespace windtunnel
