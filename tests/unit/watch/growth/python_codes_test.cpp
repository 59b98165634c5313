#include "watch/growth/python_codes.h"

#include <cstring>
#include <gtest/gtest.h>

namespace memscope {
namespace python_codes_test {

constexpr std::uint32_t kPlainAscii = 0x64;  // compact, ASCII, of one byte each

ms_code code_at(std::uint64_t address, const std::string& name, std::uint64_t space = 1,
                std::uint32_t first_line = 10) {
    ms_code code{};
    code.h.target = space;
    code.code = address;
    code.first_line = first_line;
    code.version = 311;
    code.name_state = code.file_state = kPlainAscii;
    std::strncpy(code.name, name.c_str(), sizeof code.name - 1);
    std::strncpy(code.file, "train.py", sizeof code.file - 1);
    code.line_table[0] = 0x80 | 11 << 3 | 3;  // four instructions, one line further down
    code.line_table_bytes = 2;
    return code;
}

PythonFrame frame_of(PythonCodes& codes, std::uint64_t address, std::uint64_t space = 1,
                     std::uint32_t first_line = 10) {
    const RawStack stack{.space = SpaceId{space}};
    return codes.frame(stack, {.code = address, .instruction = 0, .first_line = first_line});
}

PythonCodes codes_of_nobody() {
    return PythonCodes([](pid_t) { return std::nullopt; });
}

TEST(PythonCodes, NameAFrame) {
    PythonCodes codes = codes_of_nobody();
    codes.add(code_at(0x1000, "Trainer.validate"));
    EXPECT_EQ(frame_of(codes, 0x1000), (PythonFrame{"Trainer.validate", "train.py", 11}));
    EXPECT_EQ(codes.unknown(), 0U);
}

TEST(PythonCodes, CountFramesThatTheyCannotName) {
    PythonCodes codes = codes_of_nobody();
    codes.add(code_at(0x1000, "load"));
    codes.add(code_at(0x2000, ""));
    EXPECT_EQ(frame_of(codes, 0x3000).function, "?");
    EXPECT_EQ(frame_of(codes, 0x2000).function, "?");
    EXPECT_EQ(frame_of(codes, 0x1000, 1, 99).function, "?") << "another code object at the same address";
    EXPECT_EQ(frame_of(codes, 0x1000, 2).function, "?") << "the same address in another address space";
    EXPECT_EQ(codes.unknown(), 4U);
}

TEST(PythonCodes, TheLatestCodeObjectOfAnAddressReplacesTheEarlier) {
    PythonCodes codes = codes_of_nobody();
    codes.add(code_at(0x1000, "before"));
    codes.add(code_at(0x1000, "after"));
    EXPECT_EQ(frame_of(codes, 0x1000).function, "after");
}

TEST(PythonCodes, AreForgottenWithTheirSpace) {
    PythonCodes codes = codes_of_nobody();
    codes.add(code_at(0x1000, "load"));
    codes.forget(SpaceId{1});
    EXPECT_EQ(frame_of(codes, 0x1000).function, "?");
    EXPECT_EQ(codes.bytes(), 0U);
}

TEST(PythonCodes, ForkedWorkersShareEqualCodeObjects) {
    PythonCodes codes = codes_of_nobody();
    codes.add(code_at(0x1000, "load"));
    const std::size_t once = codes.bytes();
    for (std::uint64_t space = 2; space < 100; ++space) codes.add(code_at(0x1000, "load", space));
    EXPECT_EQ(codes.bytes(), once);
    EXPECT_EQ(frame_of(codes, 0x1000, 99).function, "load");
}

TEST(PythonCodes, CodeObjectsOfOneSpaceAreBounded) {
    PythonCodes codes = codes_of_nobody();
    codes.add(code_at(0x1000, "honest", 2));
    for (std::uint64_t i = 0; i < 100'000; ++i) codes.add(code_at(0x100000 + i * 256, "made_up_" + std::to_string(i)));
    EXPECT_LT(codes.bytes(), 16U << 20U);
    EXPECT_EQ(frame_of(codes, 0x1000, 2).function, "honest");
    EXPECT_EQ(frame_of(codes, 0x100000 + 99'999 * 256).function, "made_up_99999");
}

// Many address spaces with large code objects: their sum is bounded as well.
TEST(PythonCodes, AreBoundedInBytesOverAllSpaces) {
    PythonCodes codes = codes_of_nobody();
    codes.add(code_at(0x1000, "honest", 1));
    ms_code large = code_at(0, "made_up");
    large.line_table_bytes = MS_LINE_TABLE_BYTES;
    for (std::uint64_t i = 0; i < 100'000; ++i) {
        large.h.target = 2 + i % 50;
        large.code = 0x100000 + i * 256;
        std::memcpy(large.line_table, &i, sizeof i);
        codes.add(large);
    }
    EXPECT_LE(codes.bytes(), 64U << 20U);
    EXPECT_EQ(frame_of(codes, 0x1000, 1).function, "honest");
}

}  // namespace python_codes_test
}  // namespace memscope
