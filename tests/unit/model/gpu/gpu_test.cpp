#include "model/gpu/gpu.h"

#include <gtest/gtest.h>

namespace memscope {
namespace gpu_test {

TEST(GpuId, IsWrittenAsTheDriverWritesIt) {
    GpuUuid uuid{};
    for (std::size_t i = 0; i < uuid.size(); ++i) uuid[i] = static_cast<std::uint8_t>(i * 17);
    EXPECT_EQ(gpu_id(uuid), "GPU-00112233-4455-6677-8899-aabbccddeeff");
}

}  // namespace gpu_test
}  // namespace memscope
