#include "sources/python/python_layout.h"

#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memscope {
namespace python_layout_test {

using testing::HasSubstr;

using Words = std::array<std::uint64_t, kDebugOffsetsBytes / 8>;
constexpr std::uint64_t kCookie = 0x7970677562656478;  // "xdebugpy"

std::span<const std::byte> bytes(const Words& words) { return std::as_bytes(std::span(words)); }

// As CPython 3.13 to 3.15 write them.
Words offsets_313() {
    Words w{};
    w[0] = kCookie, w[1] = 0x030d05f0, w[5] = 632, w[8] = 7264, w[9] = 7344;
    w[21] = 8, w[23] = 72, w[25] = 160;
    w[29] = 8, w[30] = 0, w[31] = 56, w[33] = 70;
    w[35] = 112, w[36] = 120, w[37] = 128, w[38] = 136, w[39] = 68, w[43] = 200;
    w[65] = 16, w[66] = 32, w[68] = 32, w[69] = 16, w[70] = 40;
    return w;
}

Words offsets_314() {
    Words w{};
    w[0] = kCookie, w[1] = 0x030e03f0, w[5] = 808, w[8] = 7272, w[9] = 7344;
    w[24] = 8, w[26] = 72, w[28] = 160;
    w[32] = 8, w[33] = 0, w[34] = 56, w[36] = 74;
    w[40] = 112, w[41] = 120, w[42] = 128, w[43] = 136, w[44] = 68, w[48] = 208;
    w[75] = 16, w[76] = 32, w[78] = 32, w[79] = 16, w[80] = 40;
    return w;
}

Words offsets_315() {
    Words w{};
    w[0] = kCookie, w[1] = 0x030f02f0, w[5] = 936, w[8] = 7264, w[9] = 7336;
    w[24] = 8, w[26] = 72, w[28] = 88, w[31] = 184;
    w[40] = 8, w[41] = 0, w[42] = 56, w[44] = 74;
    w[48] = 112, w[49] = 120, w[50] = 128, w[51] = 136, w[52] = 68, w[56] = 208;
    w[87] = 16, w[88] = 32, w[90] = 32, w[91] = 16, w[92] = 40;
    return w;
}

void expect_safe(const ms_python& layout) {
    const auto is_word = [&](unsigned offset) { return offset % 8 == 0 && offset + 8U <= layout.frame_bytes; };
    EXPECT_LE(layout.frame_bytes, 112);
    EXPECT_TRUE(is_word(layout.frame_previous));
    EXPECT_TRUE(is_word(layout.frame_code));
    EXPECT_TRUE(is_word(layout.frame_instruction));
    EXPECT_TRUE(layout.frame_owner < layout.frame_bytes || layout.frame_owner == MS_PYTHON_NO_OFFSET);
    EXPECT_LT(layout.interpreter_next, 1U << 20U);
    EXPECT_LT(layout.interpreter_threads, 1U << 20U);
}

TEST(PythonVersion, IsParsedFromTheHexNumber) {
    EXPECT_EQ(python_version(0x030a0cf0), 310);
    EXPECT_EQ(python_version(0x030e03f0), 314);
    EXPECT_EQ(python_version_text(314), "3.14");
}

TEST(PythonLayout, IsBuiltInForVersionsWithoutDebugOffsets) {
    for (const int version : {310, 311, 312}) {
        const auto layout = python_layout(version);
        ASSERT_TRUE(layout);
        EXPECT_EQ(layout->version, version);
        expect_safe(*layout);
    }
}

TEST(PythonLayout, OfAnUnknownVersionIsAnErrorThatSaysWhich) {
    for (const int version : {207, 309, 313, 316, 0, 25755})
        EXPECT_THAT(python_layout(version).error().message(), HasSubstr("CPython " + python_version_text(version)));
    auto words = offsets_314();
    words[1] = 0x031000f0;
    EXPECT_THAT(python_layout(bytes(words)).error().message(), HasSubstr("CPython 3.16"));
}

TEST(PythonLayout, IsReadFromTheDebugOffsets) {
    const auto words = offsets_313();
    const auto layout = python_layout(bytes(words));
    ASSERT_TRUE(layout) << layout.error().message();
    EXPECT_EQ(layout->version, 313);
    EXPECT_EQ(layout->runtime_interpreters, 632);
    EXPECT_EQ(layout->interpreter_next, 7264U);
    EXPECT_EQ(layout->interpreter_threads, 7344U);
    EXPECT_EQ(layout->thread_id, 160);
    EXPECT_EQ(layout->frame_instruction, 56);
    EXPECT_EQ(layout->frame_owner, 70);
    EXPECT_EQ(layout->frame_bytes, 72);
    EXPECT_EQ(layout->cframe_frame, MS_PYTHON_NO_OFFSET);
    EXPECT_EQ(layout->code_name, 128) << "the qualified one";
    EXPECT_EQ(layout->code_bytecode, 200);
    EXPECT_EQ(layout->text_data, 40);
    expect_safe(*layout);
}

TEST(PythonLayout, ReadsTheDebugOffsetsOfVersion314) {
    const auto words = offsets_314();
    const auto layout = python_layout(bytes(words));
    ASSERT_TRUE(layout) << layout.error().message();
    EXPECT_EQ(layout->version, 314);
    EXPECT_EQ(layout->frame_owner, 74);
    EXPECT_EQ(layout->frame_bytes, 80);
    EXPECT_EQ(layout->code_bytecode, 208);
    EXPECT_EQ(layout->bytes_data, 32);
    expect_safe(*layout);
}

TEST(PythonLayout, ReadsTheDebugOffsetsOfVersion315) {
    const auto words = offsets_315();
    const auto layout = python_layout(bytes(words));
    ASSERT_TRUE(layout) << layout.error().message();
    EXPECT_EQ(layout->version, 315);
    EXPECT_EQ(layout->interpreter_threads, 7336U);
    EXPECT_EQ(layout->thread_id, 184) << "three words of frames precede it in the table";
    EXPECT_EQ(layout->frame_owner, 74);
    EXPECT_EQ(layout->code_bytecode, 208);
    EXPECT_EQ(layout->text_data, 40);
    expect_safe(*layout);
}

TEST(PythonLayout, OfAFreeThreadedBuildIsAnErrorThatSaysSo) {
    auto words = offsets_313();
    words[2] = 1;
    EXPECT_THAT(python_layout(bytes(words)).error().message(), HasSubstr("free-threaded CPython 3.13"));
}

TEST(PythonLayout, IsRefusedWithoutTheCookieOrIfTruncated) {
    auto words = offsets_313();
    for (std::size_t size = 0; size < 71 * 8; ++size) EXPECT_FALSE(python_layout(bytes(words).first(size))) << size;
    EXPECT_TRUE(python_layout(bytes(words).first(71 * 8)));
    words[0] ^= 1;
    EXPECT_FALSE(has_debug_offsets(bytes(words)));
    EXPECT_FALSE(python_layout(bytes(words)));
}

TEST(PythonLayout, IsRefusedWhereAnOffsetIsImpossible) {
    const std::size_t used[] = {5, 8, 9, 21, 23, 25, 29, 30, 31, 33, 35, 37, 38, 39, 43, 65, 66, 68, 69, 70};
    for (const std::size_t word : used)
        for (const std::uint64_t value : {~0ULL, 1ULL << 63U, 1ULL << 32U, 1ULL << 20U}) {
            auto words = offsets_313();
            words[word] = value;
            EXPECT_FALSE(python_layout(bytes(words))) << word << " = " << value;
        }
    for (const std::size_t word : {29U, 30U, 31U})  // words of a frame
        for (const std::uint64_t value : {1U, 4U, 57U, 105U, 112U, 65535U}) {
            auto words = offsets_313();
            words[word] = value;
            EXPECT_FALSE(python_layout(bytes(words))) << word << " = " << value;
        }
    for (const std::uint64_t value : {112U, 65535U}) {
        auto words = offsets_313();
        words[33] = value;
        EXPECT_FALSE(python_layout(bytes(words))) << value;
    }
}

TEST(PythonLayout, IsSafeForTheKernelWithAnyValues) {
    for (std::uint64_t previous = 0; previous < 128; ++previous)
        for (std::uint64_t owner = 0; owner < 128; ++owner) {
            auto words = offsets_314();
            words[32] = previous, words[36] = owner;
            if (const auto layout = python_layout(bytes(words))) expect_safe(*layout);
        }
}

}  // namespace python_layout_test
}  // namespace memscope
