#include "recording/compression.h"

#include <gmock/gmock.h>

namespace memscope::recording {
namespace compression_test {

using testing::HasSubstr;

constexpr std::size_t kMost = 1 << 20;

TEST(Compression, ReturnsTheBytes) {
    Compressor compressor;
    Decompressor decompressor;
    const std::string text(5000, 'x'), other = text + "and more";
    for (const std::string& reference : {std::string(), text, other}) {
        const auto read = decompressor.decompress(compressor.compress(other, reference), reference, kMost);
        ASSERT_TRUE(read);
        EXPECT_EQ(*read, other);
    }
    EXPECT_EQ(*decompressor.decompress(compressor.compress("", ""), "", kMost), "");
}

TEST(Compression, CompressesDataThatIsInTheReference) {
    std::string reference;
    for (unsigned i = 0, n = 1; i < 200'000; ++i, n = n * 1664525 + 1013904223)
        reference += static_cast<char>(n >> 24U);
    std::string changed = reference;
    changed[100'000] = static_cast<char>(changed[100'000] + 1);
    EXPECT_GT(Compressor().compress(changed, "").size(), 190'000U);
    EXPECT_LT(Compressor().compress(changed, reference).size(), 200U);
}

TEST(Compression, RefusesDamagedBytes) {
    Decompressor decompressor;
    const std::string good = Compressor().compress(std::string(5000, 'x'), "");
    EXPECT_THAT(decompressor.decompress("", "", kMost).error().where, HasSubstr("damaged"));
    EXPECT_THAT(decompressor.decompress("no zstd at all", "", kMost).error().where, HasSubstr("damaged"));
    EXPECT_THAT(decompressor.decompress(good.substr(0, good.size() - 1), "", kMost).error().where,
                HasSubstr("damaged"));
    EXPECT_THAT(decompressor.decompress(good, "", 4999).error().where, HasSubstr("larger"));
    EXPECT_TRUE(decompressor.decompress(good, "", 5000));  // the errors above do not affect later calls
}

}  // namespace compression_test
}  // namespace memscope::recording
