#include "record/container.h"

#include <fmt/format.h>
#include <iterator>
#include <protozero/varint.hpp>
#include <zlib.h>

#include "base/text.h"
#include "base/version.h"

namespace memscope::record {
namespace {

constexpr std::string_view kMagic = "\x8Emscope";
constexpr std::size_t kMostWriter = 64;  // bytes: a longer text is not a version
constexpr std::size_t kSumBytes = 4;

std::string_view name_of(Kind kind) {
    switch (kind) {
        case Kind::snapshot:
            return "a snapshot";
        case Kind::growth:
            return "growth";
        case Kind::death_report:
            return "a death report";
        case Kind::heap_census:
            return "a heap census";
    }
    return "another kind";
}

void add_varint(std::string& out, std::uint64_t number) { protozero::write_varint(std::back_inserter(out), number); }

std::string checksum(std::string_view bytes) {
    const auto sum = ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    std::string out;
    for (unsigned shift = 0; shift < 32; shift += 8) out += static_cast<char>(sum >> shift & 0xFFU);
    return out;
}

Error cut_short() { return plain_error("is cut short"); }

// Removes a varint from the front of the bytes and returns it.
Result<std::uint64_t> take_varint(std::string_view& rest) {
    const char* begin = rest.data();
    try {
        const std::uint64_t number = protozero::decode_varint(&begin, rest.data() + rest.size());
        rest.remove_prefix(static_cast<std::size_t>(begin - rest.data()));
        return number;
    } catch (const protozero::end_of_buffer_exception&) {
        return cut_short();
    } catch (const protozero::exception&) {
        return plain_error("is damaged: its header has no valid numbers");
    }
}

Result<std::string_view> take_text(std::string_view& rest, std::uint64_t size) {
    if (size > rest.size()) return cut_short();
    const std::string_view text = rest.substr(0, size);
    rest.remove_prefix(size);
    return text;
}

Status check_kind(Kind kind, std::string_view& rest) {
    const std::string_view magic = rest.substr(0, kMagic.size());
    if (rest.empty() || !kMagic.starts_with(magic)) return plain_error("is not a record of memscope");
    if (rest.size() <= kMagic.size()) return cut_short();
    const Kind found{rest[kMagic.size()]};
    if (found != kind) return plain_error(fmt::format("is a record of {}, not of {}", name_of(found), name_of(kind)));
    rest.remove_prefix(kMagic.size() + 1);
    return Done{};
}

}  // namespace

std::string sealed(Kind kind, std::string_view content, std::uint64_t version) {
    std::string out(kMagic);
    out += static_cast<char>(kind);
    add_varint(out, version);
    // The version of the program that writes the record, for the error that an older program prints.
    add_varint(out, kVersion.size());
    out += kVersion;
    add_varint(out, content.size());
    out += content;
    return out + checksum(out);
}

Result<std::string_view> unsealed(Kind kind, std::string_view bytes) {
    std::string_view rest = bytes;
    if (auto checked = check_kind(kind, rest); !checked) return checked.error();
    const auto version = take_varint(rest);
    if (!version) return version.error();
    const auto writer_size = take_varint(rest);
    if (!writer_size) return writer_size.error();
    if (*version == 0 || *writer_size > kMostWriter) return plain_error("is damaged: its header is not valid");
    const auto writer = take_text(rest, *writer_size);
    if (!writer) return writer.error();
    if (*version > kFormatVersion)
        return plain_error(
            fmt::format("is a record of a later version: read it with memscope {} or later", printable(*writer)));
    const auto size = take_varint(rest);
    if (!size) return size.error();
    auto content = take_text(rest, *size);
    if (!content) return content.error();
    if (rest.size() < kSumBytes) return cut_short();
    if (rest.size() > kSumBytes) return plain_error("is damaged: bytes follow its end");
    if (checksum(bytes.substr(0, bytes.size() - kSumBytes)) != rest)
        return plain_error("is damaged: its checksum does not match");
    return content;
}

}  // namespace memscope::record
