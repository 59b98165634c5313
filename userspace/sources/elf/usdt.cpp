#include "sources/elf/usdt.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>

#include "sources/elf/elf_notes.h"

namespace memscope {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kSection = ".note.stapsdt";
constexpr std::string_view kBaseSection = ".stapsdt.base";
constexpr std::string_view kOwner = "stapsdt\0"sv;  // the owner of a note includes the NUL
constexpr std::uint32_t kProbeNote = 3;
constexpr std::size_t kUsdtNotesLimit = std::size_t{1} << 20;  // libraries with hundreds of probes have about 30 KiB
constexpr std::size_t kProbesLimit = 4096;

struct Addresses {
    std::uint64_t place = 0;
    std::uint64_t base = 0;
    std::uint64_t semaphore = 0;
};
static_assert(sizeof(Addresses) == 24);

Error damaged() { return plain_error("its USDT notes are damaged"); }

// Takes the text up to the next NUL and the NUL itself. None if there is no NUL.
std::optional<std::string_view> take_text(std::string_view& rest) {
    const auto end = rest.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return text;
}

// Notes contain addresses from link time. If a tool has moved the sections since, the address of the base section,
// which every such file has, shows by how much.
std::uint64_t moved_by(const ElfFile& file, std::uint64_t base) {
    const auto section = file.section(kBaseSection);
    return section && base != 0 ? section->address - base : 0;
}

Status read_note(const ElfFile& file, std::string_view content, std::string_view provider,
                 std::vector<UsdtProbe>& probes) {
    Addresses at;
    if (content.size() < sizeof at) return damaged();
    std::memcpy(&at, content.data(), sizeof at);
    content.remove_prefix(sizeof at);
    const auto its_provider = take_text(content);
    const auto name = take_text(content);
    const auto arguments = take_text(content);
    if (!its_provider || !name || !arguments) return damaged();
    if (*its_provider != provider) return Done{};
    if (probes.size() >= kProbesLimit) return plain_error("it has too many USDT probes");
    const std::uint64_t moved = moved_by(file, at.base);
    const auto place = offset_in(file.segments(), at.place + moved, true);
    const auto semaphore =
        at.semaphore == 0 ? std::optional<std::uint64_t>(0) : offset_in(file.segments(), at.semaphore + moved, false);
    if (!place || !semaphore) return damaged();
    probes.push_back(
        {.name = std::string(*name), .arguments = std::string(*arguments), .offset = *place, .semaphore = *semaphore});
    return Done{};
}

Status read_notes(const ElfFile& file, std::string_view notes, std::string_view provider,
                  std::vector<UsdtProbe>& probes) {
    Status read = Done{};
    const bool complete = for_each_note(notes, [&](const ElfNote& note) {
        if (note.type == kProbeNote && note.owner == kOwner) read = read_note(file, note.content, provider, probes);
        return static_cast<bool>(read);
    });
    return complete ? read : damaged();
}

}  // namespace

Result<std::vector<UsdtProbe>> read_usdt_probes(const ElfFile& file, std::string_view provider) {
    std::vector<UsdtProbe> probes;
    for (const ElfSection& section : file.sections()) {
        if (section.name != kSection) continue;
        if (section.file_size() > kUsdtNotesLimit) return plain_error("its USDT notes are too long");
        const std::string notes = file.read(section, 0, kUsdtNotesLimit);
        if (notes.size() != section.file_size()) return damaged();  // the file is being written
        if (auto read = read_notes(file, notes, provider, probes); !read) return read.error();
    }
    return probes;
}

namespace {

struct Register {
    std::uint16_t at = 0;    // offset in the kernel's struct pt_regs
    std::uint8_t bytes = 0;  // number of bytes of the register that this name refers to
};

// In the order of struct pt_regs, which is ABI because of ptrace(), with the four sizes of each register.
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

// Parses tokens from the front of a text. Text that it cannot parse stays.
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
            return plain_error("the probe arguments '" + std::string(text.substr(0, 200)) + "' have an unknown form");
        operands.push_back(*operand);
    }
    return operands;
}

}  // namespace memscope
