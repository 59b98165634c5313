#include "base/token_bucket.h"

#include <gtest/gtest.h>

namespace memscope {
namespace token_bucket_test {

int admitted(TokenBucket& allowance, double from, double to, double every) {
    int count = 0;
    for (double t = from; t < to; t += every)
        if (allowance.may(Seconds(t))) {
            allowance.take();
            ++count;
        }
    return count;
}

TEST(TokenBucket, GivesSomeAtOnceThenOneEverySoOften) {
    TokenBucket allowance(5, std::chrono::seconds(60));
    EXPECT_EQ(admitted(allowance, 1000, 1001, 0.01), 5);
    EXPECT_EQ(admitted(allowance, 1001, 1600, 0.1), 9);
}

TEST(TokenBucket, DoesNotSaveUpMoreThanItsMost) {
    TokenBucket allowance(5, std::chrono::seconds(60));
    EXPECT_EQ(admitted(allowance, 1e6, 1e6 + 1, 0.01), 5);
    EXPECT_EQ(admitted(allowance, 2e6, 2e6 + 1, 0.01), 5);
}

}  // namespace token_bucket_test
}  // namespace memscope
