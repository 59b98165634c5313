#include "sources/usdt_operands.h"

#include <array>
#include <charconv>
#include <optional>
#include <string>

namespace memscope {
namespace {

struct Register {
    std::uint16_t at = 0;    // in the kernel's struct pt_regs
    std::uint8_t bytes = 0;  // as many of it as the name stands for
};

// In the order of struct pt_regs, which is the ABI of ptrace(); the four sizes of each.
struct Names {
    std::uint16_t at;
    std::array<std::string_view, 4> by_size;  // 8, 4, 2 and 1 bytes
};
constexpr Names kX86[] = {
    {0, {"r15", "r15d", "r15w", "r15b"}},  {8, {"r14", "r14d", "r14w", "r14b"}},  {16, {"r13", "r13d", "r13w", "r13b"}},
    {24, {"r12", "r12d", "r12w", "r12b"}}, {32, {"rbp", "ebp", "bp", "bpl"}},     {40, {"rbx", "ebx", "bx", "bl"}},
    {48, {"r11", "r11d", "r11w", "r11b"}}, {56, {"r10", "r10d", "r10w", "r10b"}}, {64, {"r9", "r9d", "r9w", "r9b"}},
    {72, {"r8", "r8d", "r8w", "r8b"}},     {80, {"rax", "eax", "ax", "al"}},      {88, {"rcx", "ecx", "cx", "cl"}},
    {96, {"rdx", "edx", "dx", "dl"}},      {104, {"rsi", "esi", "si", "sil"}},    {112, {"rdi", "edi", "di", "dil"}},
    {152, {"rsp", "esp", "sp", "spl"}},
};

std::optional<Register> x86_register(std::string_view name) {
    for (const Names& names : kX86)
        for (std::size_t i = 0; i < names.by_size.size(); ++i)
            if (names.by_size[i] == name) return Register{names.at, static_cast<std::uint8_t>(8U >> i)};
    return std::nullopt;
}

std::optional<Register> aarch64_register(std::string_view name) {
    constexpr unsigned kCount = 31;
    if (name == "sp") return Register{8 * kCount, 8};
    if (name.size() < 2 || (name[0] != 'x' && name[0] != 'w')) return std::nullopt;
    unsigned number = 0;
    const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
    if (error != std::errc{} || end != name.data() + name.size() || number >= kCount) return std::nullopt;
    return Register{static_cast<std::uint16_t>(8 * number), static_cast<std::uint8_t>(name[0] == 'x' ? 8 : 4)};
}

// Takes what it understands from the front of a text; what it does not understand stays there.
class Reader {
  public:
    Reader(std::string_view text, Machine machine) : rest_(text), machine_(machine) {}

    std::optional<ms_operand> operand() {
        skip_spaces();
        const auto size = number();
        if (!size || !take('@')) return std::nullopt;
        ms_operand operand{};
        operand.is_signed = *size < 0;
        if (*size != 1 && *size != 2 && *size != 4 && *size != 8 && *size != -1 && *size != -2 && *size != -4 &&
            *size != -8)
            return std::nullopt;
        operand.bytes = static_cast<std::uint8_t>(*size < 0 ? -*size : *size);
        const bool understood = machine_ == Machine::x86_64 ? x86(operand) : aarch64(operand);
        return understood && (rest_.empty() || rest_.front() == ' ') ? std::optional(operand) : std::nullopt;
    }

  private:
    void skip_spaces() {
        while (take(' ')) continue;
    }
    bool take(char wanted) {
        if (!rest_.starts_with(wanted)) return false;
        rest_.remove_prefix(1);
        return true;
    }
    std::optional<std::int64_t> number() {
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (error != std::errc{}) return std::nullopt;
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return value;
    }
    std::optional<Register> register_named() {
        if (machine_ == Machine::x86_64 && !take('%')) return std::nullopt;
        const auto end = rest_.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789");
        const std::string_view name = rest_.substr(0, end);
        rest_.remove_prefix(name.size());
        return machine_ == Machine::x86_64 ? x86_register(name) : aarch64_register(name);
    }
    bool constant(ms_operand& operand) {
        const auto value = number();
        operand.kind = MS_OPERAND_CONSTANT;
        operand.number = value.value_or(0);
        return value.has_value();
    }
    bool in_register(ms_operand& operand) {
        const auto found = register_named();
        if (!found || found->bytes < operand.bytes) return false;
        operand.kind = MS_OPERAND_REGISTER;
        operand.register_at = found->at;
        return true;
    }
    bool at_register(ms_operand& operand) {
        const auto found = register_named();
        if (!found || found->bytes != 8) return false;
        operand.kind = MS_OPERAND_MEMORY;
        operand.register_at = found->at;
        return true;
    }
    bool x86(ms_operand& operand) {
        if (take('$')) return constant(operand);
        if (rest_.starts_with('%')) return in_register(operand);
        if (!rest_.starts_with('(')) {
            const auto distance = number();
            if (!distance) return false;
            operand.number = *distance;
        }
        return take('(') && at_register(operand) && take(')');
    }
    bool aarch64(ms_operand& operand) {
        if (take('[')) {
            if (!at_register(operand)) return false;
            if (take(',')) {
                skip_spaces();
                take('#');
                const auto distance = number();
                if (!distance) return false;
                operand.number = *distance;
            }
            return take(']');
        }
        if (rest_.starts_with('x') || rest_.starts_with('w') || rest_.starts_with('s')) return in_register(operand);
        return constant(operand);
    }

    std::string_view rest_;
    Machine machine_;
};

}  // namespace

Result<std::vector<ms_operand>> parse_operands(std::string_view text, std::size_t count, Machine machine) {
    Reader reader(text, machine);
    std::vector<ms_operand> operands;
    while (operands.size() < count) {
        const auto operand = reader.operand();
        if (!operand)
            return plain_error("the arguments '" + std::string(text.substr(0, 200)) + "' are of a kind not known here");
        operands.push_back(*operand);
    }
    return operands;
}

}  // namespace memscope
