#include <gmock/gmock.h>
#include <sys/user.h>

#include "sources/elf/usdt.h"

namespace memscope {
namespace usdt_operands_test {

constexpr Machine kX86 = Machine::x86_64;
constexpr Machine kArm = Machine::aarch64;

ms_operand only(std::string_view text, Machine machine) {
    const auto operands = parse_operands(text, 1, machine);
    EXPECT_TRUE(operands) << text;
    return operands ? operands->front() : ms_operand{};
}

void expect(const ms_operand& operand, ms_operand_kind kind, int register_at, std::int64_t number, int bytes,
            bool is_signed) {
    EXPECT_EQ(operand.kind, kind);
    EXPECT_EQ(operand.register_at, register_at);
    EXPECT_EQ(operand.number, number);
    EXPECT_EQ(operand.bytes, bytes);
    EXPECT_EQ(operand.is_signed != 0, is_signed);
}

TEST(UsdtOperands, OfX86AreRegistersOfAllSizes) {
    expect(only("8@%rdi", kX86), MS_OPERAND_REGISTER, 112, 0, 8, false);
    expect(only("-8@%rbx", kX86), MS_OPERAND_REGISTER, 40, 0, 8, true);
    expect(only("-4@%esi", kX86), MS_OPERAND_REGISTER, 104, 0, 4, true);
    expect(only("-1@%r12b", kX86), MS_OPERAND_REGISTER, 24, 0, 1, true);
    expect(only("-2@%dx", kX86), MS_OPERAND_REGISTER, 96, 0, 2, true);
    expect(only("4@%rax", kX86), MS_OPERAND_REGISTER, 80, 0, 4, false);
}

TEST(UsdtOperands, OfX86AreMemoryAtARegisterAndConstants) {
    expect(only("8@-8(%rbp)", kX86), MS_OPERAND_MEMORY, 32, -8, 8, false);
    expect(only("-1@15(%rsp)", kX86), MS_OPERAND_MEMORY, 152, 15, 1, true);
    expect(only("-8@(%r15)", kX86), MS_OPERAND_MEMORY, 0, 0, 8, true);
    expect(only("-4@$-1", kX86), MS_OPERAND_CONSTANT, 0, -1, 4, true);
    expect(only("8@$4096", kX86), MS_OPERAND_CONSTANT, 0, 4096, 8, false);
}

TEST(UsdtOperands, OfAarch64AreRegistersMemoryAndConstants) {
    expect(only("-8@x19", kArm), MS_OPERAND_REGISTER, 152, 0, 8, true);
    expect(only("-4@w0", kArm), MS_OPERAND_REGISTER, 0, 0, 4, true);
    expect(only("-1@x1", kArm), MS_OPERAND_REGISTER, 8, 0, 1, true);
    expect(only("8@sp", kArm), MS_OPERAND_REGISTER, 248, 0, 8, false);
    expect(only("-8@[sp, 40]", kArm), MS_OPERAND_MEMORY, 248, 40, 8, true);
    expect(only("-8@[x29, -16]", kArm), MS_OPERAND_MEMORY, 232, -16, 8, true);
    expect(only("-8@[x30,#8]", kArm), MS_OPERAND_MEMORY, 240, 8, 8, true);
    expect(only("8@[x0]", kArm), MS_OPERAND_MEMORY, 0, 0, 8, false);
    expect(only("-8@0", kArm), MS_OPERAND_CONSTANT, 0, 0, 8, true);
}

TEST(UsdtOperands, AreReadInTheirOrderAndOnlyAsManyAsWanted) {
    const auto x86 = parse_operands("-8@-24(%rbp) -1@%r12b -8@%rbx -8@nobody(%rip)", 3, kX86);
    ASSERT_TRUE(x86);
    EXPECT_THAT(*x86, testing::SizeIs(3));
    EXPECT_EQ((*x86)[2].register_at, 40);
    const auto arm = parse_operands("-8@[sp, 40] -1@x1 -8@x20 -8@0", 4, kArm);
    ASSERT_TRUE(arm);
    EXPECT_EQ((*arm)[1].register_at, 8);
    EXPECT_EQ((*arm)[2].register_at, 160);
}

// A register smaller than the operand, or another addressing mode, would be read as a wrong value.
TEST(UsdtOperands, RefuseOtherForms) {
    for (const char* text : {"",
                             "8",
                             "8@",
                             "@%rax",
                             "%rax",
                             "3@%rax",
                             "16@%rax",
                             "8@%eax",
                             "2@%al",
                             "1@%ah",
                             "8@%xmm0",
                             "8f@%xmm0",
                             "8@%rip",
                             "8@-8(%rbp",
                             "8@(%rbp,%rax,8)",
                             "8@8(%ebp)",
                             "8@sym(%rip)",
                             "8@%rax,",
                             "8@%raxx",
                             "8@$",
                             "8@$x",
                             "8@99999999999999999999(%rsp)",
                             "8@x0",
                             "8@[x0]",
                             "--8@%rax",
                             "-9223372036854775808@%rax",
                             " "})
        EXPECT_FALSE(parse_operands(text, 1, kX86)) << text;
    for (const char* text : {"", "8@", "8@x31", "8@x", "8@w", "8@w1", "8@x-1", "8@xzr", "8@[x0", "8@[w0]", "8@[x0, x1]",
                             "8@[sp, ]", "8@[sp, 8", "8@[sp, 8]!", "8@%rax", "8@[x0, w1, sxtw #2]", "8@d0", "8@s"})
        EXPECT_FALSE(parse_operands(text, 1, kArm)) << text;
    EXPECT_FALSE(parse_operands("8@%rax", 2, kX86)) << "there is only one argument";
    EXPECT_FALSE(parse_operands(std::string_view("8@%rax\0 8@%rax", 14), 2, kX86));
}

TEST(UsdtOperands, AreQuotedInErrorsAsOneShortPrintableLine) {
    const auto refused = parse_operands("8@\x1b[2J\n" + std::string(5000, 'x'), 1, kX86);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message().find_first_of("\x1b\n"), std::string::npos);
    EXPECT_LT(refused.error().message().size(), 400U);
}

#if defined(__x86_64__)
TEST(UsdtOperands, HaveTheRegisterOffsetsOfTheKernel) {
    EXPECT_EQ(only("8@%r15", kX86).register_at, offsetof(user_regs_struct, r15));
    EXPECT_EQ(only("8@%rbp", kX86).register_at, offsetof(user_regs_struct, rbp));
    EXPECT_EQ(only("8@%r8", kX86).register_at, offsetof(user_regs_struct, r8));
    EXPECT_EQ(only("8@%rdi", kX86).register_at, offsetof(user_regs_struct, rdi));
    EXPECT_EQ(only("8@%rsp", kX86).register_at, offsetof(user_regs_struct, rsp));
}
#else
TEST(UsdtOperands, HaveTheRegisterOffsetsOfTheKernel) {
    EXPECT_EQ(only("8@x30", kArm).register_at, offsetof(user_regs_struct, regs) + 30 * sizeof(std::uint64_t));
    EXPECT_EQ(only("8@sp", kArm).register_at, offsetof(user_regs_struct, sp));
}
#endif

}  // namespace usdt_operands_test
}  // namespace memscope
