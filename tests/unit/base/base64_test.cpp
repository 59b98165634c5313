#include "base/base64.h"

#include <gtest/gtest.h>

namespace memscope {
namespace base64_test {

TEST(Base64, AgreesWithTheStandard) {
    // RFC 4648, section 10.
    EXPECT_EQ(base64(""), "");
    EXPECT_EQ(base64("f"), "Zg==");
    EXPECT_EQ(base64("fo"), "Zm8=");
    EXPECT_EQ(base64("foo"), "Zm9v");
    EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
    EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

TEST(Base64, EveryByteComesBack) {
    std::string bytes;
    for (int i = 0; i < 256; ++i) {
        EXPECT_EQ(from_base64(base64(bytes)), bytes);
        bytes += static_cast<char>(i);
    }
}

TEST(Base64, OtherTextIsRefused) {
    for (const char* text :
         {"Z", "Zg", "Zg=", "====", "Z===", "Zg==Zg==", "Zm9\n", "Zm9-", "Zh==", "Zm9=", "Zg= ", "Z=g="})
        EXPECT_EQ(from_base64(text), std::nullopt) << text;
}

}  // namespace base64_test
}  // namespace memscope
