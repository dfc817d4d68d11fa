// Is a busy machine called one?

#include "models/cost/calibration.h"

#include <gtest/gtest.h>

namespace windtunnel {
namespace {

TEST(Calibration, IsOfABusyMachineByItsKernelsOrItsSpeed) {
  EXPECT_FALSE(was_busy({.noise = 0.02, .drift = 0.2}));
  EXPECT_TRUE(was_busy({.noise = 0.3, .drift = 0.0}));
  EXPECT_TRUE(was_busy({.noise = 0.0, .drift = 3.0}));
  EXPECT_EQ(quiet_text({.noise = 0.013, .drift = 0.2}),
            "kernels vary by 1.3 % from call to call, the machine's speed by 20.0 %");
}

}  // namespace
}  // namespace windtunnel
