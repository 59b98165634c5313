#include <gmock/gmock.h>

#include "outputs/http/listen.h"

namespace memscope {
namespace listen_address_test {

using testing::HasSubstr;

TEST(Listen, TakesNumericAddressesWithAPort) {
    EXPECT_EQ(parse_listen("127.0.0.1:9750")->text(), "127.0.0.1:9750");
    EXPECT_EQ(parse_listen("[::1]:0")->text(), "[::1]:0");
    EXPECT_EQ(parse_listen("localhost:80")->text(), "127.0.0.1:80");
    EXPECT_EQ(parse_listen("0.0.0.0:9750")->host, "0.0.0.0");
}

TEST(Listen, RefusesOtherTextsWithAdvice) {
    for (const auto* text : {"", ":9750", "9750", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
                             "::1:9750", "[::1]", "[]:1", "example.com:9750", "[127.0.0.1]:1", "127.0.0.1:9750 "}) {
        const auto address = parse_listen(text);
        ASSERT_FALSE(address) << text;
        EXPECT_THAT(address.error().message(), HasSubstr("write 127.0.0.1:9750")) << text;
    }
}

}  // namespace listen_address_test
}  // namespace memscope
