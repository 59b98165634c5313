#include "base/token_bucket.h"

#include <gtest/gtest.h>

namespace memscope {
namespace token_bucket_test {

int admitted(TokenBucket& bucket, double from, double to, double every) {
    int count = 0;
    for (double t = from; t < to; t += every)
        if (bucket.may(Seconds(t))) {
            bucket.take();
            ++count;
        }
    return count;
}

TEST(TokenBucket, AllowsABurstThenOneTokenPerInterval) {
    TokenBucket bucket(5, std::chrono::seconds(60));
    EXPECT_EQ(admitted(bucket, 1000, 1001, 0.01), 5);
    EXPECT_EQ(admitted(bucket, 1001, 1600, 0.1), 9);
}

TEST(TokenBucket, HoldsAtMostItsCapacity) {
    TokenBucket bucket(5, std::chrono::seconds(60));
    EXPECT_EQ(admitted(bucket, 1e6, 1e6 + 1, 0.01), 5);
    EXPECT_EQ(admitted(bucket, 2e6, 2e6 + 1, 0.01), 5);
}

}  // namespace token_bucket_test
}  // namespace memscope
