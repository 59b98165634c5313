#include "sources/python/python_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sources/python/python_layout.h"
#include "support/fake_memory.h"

namespace memscope {
namespace python_code_test {

using testing::HasSubstr;

constexpr std::uint32_t kAscii = 0xABCD0065;  // the upper bits have no meaning
constexpr std::uint32_t kLatin = 0x24, kTwoBytes = 0x28, kFourBytes = 0x30;
constexpr std::uint64_t kCode = 0x10000, kName = 0x20000, kFile = 0x30000, kTable = 0x40000;

std::string repeated(std::string_view text, std::size_t times) {
    std::string out;
    while (times-- > 0) out += text;
    return out;
}

// A code object in the memory of a process.
struct FakeCodeOwner {
    ms_python layout;
    FakeMemory memory{};

    explicit FakeCodeOwner(int version) : layout(*python_layout(version)) {
        memory.put_value<std::uint32_t>(kCode + layout.code_first_line, 7);
        memory.put_value(kCode + layout.code_name, kName);
        memory.put_value(kCode + layout.code_file, kFile);
        memory.put_value(kCode + layout.code_line_table, kTable);
        text(kName, kAscii, "f");
        text(kFile, kAscii, "a.py");
        table("\xd8\x01\x02");
    }
    // `characters`: one, two or four bytes each, depending on the state.
    void text(std::uint64_t address, std::uint32_t state, std::string_view characters) {
        const TextState kind(state);
        memory.put_value<std::int64_t>(address + kTextLength,
                                       static_cast<std::int64_t>(characters.size() / kind.character_bytes));
        memory.put_value(address + kTextState, state);
        const std::uint64_t more = kind.ascii ? 0 : layout.version < 312 ? 24 : 16;
        memory.put(address + layout.text_data + more, characters);
    }
    void table(std::string_view bytes) {
        memory.put_value<std::int64_t>(kTable + layout.bytes_size, static_cast<std::int64_t>(bytes.size()));
        memory.put(kTable + layout.bytes_data, bytes);
    }
    Status complete(PythonCode& code) const { return complete_python_code(code, ProcessMemory(memory), layout, kCode); }
};

ms_code record(std::string_view name, std::string_view file, std::string_view table) {
    ms_code code{};
    code.first_line = 7;
    code.name_state = code.file_state = kAscii;
    name.substr(0, sizeof code.name - 1).copy(code.name, sizeof code.name);
    file.substr(0, sizeof code.file - 1).copy(code.file, sizeof code.file);
    code.line_table_bytes = static_cast<std::uint32_t>(table.size());
    std::memcpy(code.line_table, table.data(), std::min(table.size(), sizeof code.line_table));
    return code;
}

TEST(CodeRecord, IsCompleteIfEverythingFits) {
    const auto code = decode_python_code(record("Trainer.validate", "/a/train.py", "\xd8\x01\x02"), 311);
    EXPECT_EQ(code.function, "Trainer.validate");
    EXPECT_EQ(code.file, "/a/train.py");
    EXPECT_EQ(code.line(0), 8);
    EXPECT_FALSE(code.is_cut());
}

TEST(CodeRecord, KnowsWhatWasCutOff) {
    EXPECT_TRUE(decode_python_code(record(std::string(127, 'n'), "", ""), 311).function_cut);
    EXPECT_FALSE(decode_python_code(record(std::string(126, 'n'), "", ""), 311).function_cut);
    EXPECT_TRUE(decode_python_code(record("", std::string(255, 'f'), ""), 311).file_cut);
    EXPECT_FALSE(decode_python_code(record("", std::string(254, 'f'), ""), 311).file_cut);
    const auto long_one = decode_python_code(record("", "", repeated("\xd8\x01\x02", 342)), 311);
    EXPECT_TRUE(long_one.lines_cut);
    EXPECT_EQ(long_one.line_table.size(), 1023U) << "whole entries";
    EXPECT_FALSE(decode_python_code(record("", "", std::string(1024, '\xd8')), 311).lines_cut);
}

TEST(CodeRecord, HasNoNameWhereItIsNotAscii) {
    auto raw = record("garbage", "garbage", "");
    for (const std::uint32_t state : {kLatin, kTwoBytes, kFourBytes, 0U, 0x44U, 0x61U, ~0U}) {
        raw.name_state = raw.file_state = state;
        const auto code = decode_python_code(raw, 312);
        EXPECT_TRUE(code.function.empty() && code.function_cut && code.file.empty() && code.file_cut) << state;
    }
}

TEST(CodeRecord, AcceptsAnyBytes) {
    ms_code raw;
    std::memset(&raw, 0xFF, sizeof raw);
    raw.name_state = raw.file_state = kAscii;
    const auto code = decode_python_code(raw, 314);
    EXPECT_EQ(code.function.size(), 127U) << "no NUL at its end";
    EXPECT_EQ(code.file.size(), 255U);
    EXPECT_EQ(code.first_line, std::numeric_limits<int>::max());
    EXPECT_TRUE(code.lines_cut);
}

TEST(CutCode, IsCompletedFromTheProcess) {
    for (const int version : {310, 311, 312}) {
        FakeCodeOwner process(version);
        const std::string name(300, 'n'), lines = repeated("\xd8\x01\x02", 1000);
        process.text(kName, kAscii, name);
        process.table(lines);
        auto code = decode_python_code(record(name, "a.py", lines), version);
        const auto done = process.complete(code);
        ASSERT_TRUE(done) << done.error().message();
        EXPECT_EQ(code.function, name);
        EXPECT_EQ(code.file, "a.py");
        EXPECT_EQ(code.line_table.size(), 3000U);
        EXPECT_FALSE(code.is_cut());
    }
}

TEST(CutCode, GetsItsNameInUtf8) {
    for (const int version : {310, 312}) {
        FakeCodeOwner process(version);
        process.text(kName, kLatin,
                     "gr\xf6\xdf"
                     "e");
        process.text(kFile, kTwoBytes, std::string_view("\x16\x04\xff\xdc\x00\xd8", 6));
        auto raw = record("", "", "\xd8\x01\x02");
        raw.name_state = kLatin, raw.file_state = kTwoBytes;
        auto code = decode_python_code(raw, version);
        ASSERT_TRUE(process.complete(code));
        EXPECT_EQ(code.function, "größe");
        EXPECT_EQ(code.file, "Ж\xff\xEF\xBF\xBD") << "a byte of a file name is restored, another lone surrogate is not";
        process.text(kName, kFourBytes, std::string_view("\x0d\xf4\x01\x00\xff\xff\xff\xff", 8));
        code = decode_python_code(raw, version);
        ASSERT_TRUE(process.complete(code));
        EXPECT_EQ(code.function, "\xF0\x9F\x90\x8D\xEF\xBF\xBD");
    }
}

TEST(CutCode, IsReadWithBounds) {
    FakeCodeOwner process(312);
    process.text(kName, kAscii, std::string(5000, 'n'));
    process.table(std::string((1 << 20) + 5, '\xd8'));
    auto raw = record(std::string(127, 'n'), "a.py", "\xd8");
    auto code = decode_python_code(raw, 312);
    ASSERT_TRUE(process.complete(code));
    EXPECT_EQ(code.function.size(), kNameLimit);
    EXPECT_EQ(code.line_table.size(), kLineTableLimit);
}

TEST(CutCode, StaysTruncatedIfItsAddressHasAnotherCodeObject) {
    const std::string name(127, 'n');
    const auto expect_refused = [&](const FakeCodeOwner& process, std::string_view reason) {
        auto code = decode_python_code(record(name, "a.py", "\xd8\x01\x02"), 312);
        const auto done = process.complete(code);
        ASSERT_FALSE(done) << reason;
        EXPECT_THAT(done.error().message(), HasSubstr("another code object")) << reason;
        EXPECT_EQ(code.function, name);
        EXPECT_TRUE(code.function_cut);
    };
    FakeCodeOwner process(312);
    expect_refused(process, "another name");
    process.text(kName, kAscii, name);
    process.text(kFile, kAscii, "b.py");
    expect_refused(process, "another file");
    process.text(kFile, kAscii, "a.py");
    process.table("\xd8\x01\x03");
    expect_refused(process, "another table");
    process.table("\xd8\x01\x02");
    process.memory.put_value<std::uint32_t>(kCode + process.layout.code_first_line, 8);
    expect_refused(process, "another line");
}

TEST(CutCode, FailsOnInvalidMemory) {
    const auto fails = [](const FakeCodeOwner& process) {
        auto code = decode_python_code(record("f", "a.py", "\xd8\x01\x02"), 312);
        return !process.complete(code);
    };
    ASSERT_FALSE(fails(FakeCodeOwner(312)));
    for (const std::int64_t length : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(), std::int64_t{1000}}) {
        FakeCodeOwner process(312);
        process.memory.put_value(kName + kTextLength, length);
        EXPECT_TRUE(fails(process)) << length;
    }
    for (const std::uint32_t state : {0U, 0x45U, 0x61U, 0x6DU, 0x7DU, 0x44U}) {
        FakeCodeOwner process(312);
        process.memory.put_value(kFile + kTextState, state);
        EXPECT_TRUE(fails(process)) << state;
    }
    for (const std::uint64_t pointer : {std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0} - 20}) {
        FakeCodeOwner process(312);
        process.memory.put_value(kCode + process.layout.code_line_table, pointer);
        EXPECT_TRUE(fails(process)) << pointer;
    }
    FakeCodeOwner process(312);
    process.memory.put_value<std::int64_t>(kTable + process.layout.bytes_size, -5);
    EXPECT_TRUE(fails(process));
}

}  // namespace python_code_test
}  // namespace memscope
