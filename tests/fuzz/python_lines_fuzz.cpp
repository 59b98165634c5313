// Line tables of code objects, which a watched process can fill as it likes.
#include "fuzz.h"
#include "sources/python/python_code.h"

namespace memscope::fuzz {

void one(std::string_view bytes) {
    Input input(bytes);
    const int first_line = input.number<int>();
    const auto instruction = input.number<std::uint32_t>();
    const auto table = std::as_bytes(std::span(input.rest()));
    for (const int version : {310, 311, 314}) {
        const auto line = line_of(version, table, first_line, instruction);
        require(!line || *line >= 0, "a line is not negative");
        const auto kept = whole_entries(version, table);
        require(kept.size() <= table.size(), "nothing is added to what was cut");
        const auto early = line_of(version, kept, first_line, instruction);
        require(!early || early == line, "a table that was cut gives the same lines or none");
        line_of(version, table, first_line, instruction & 0xFFU);
    }
}

}  // namespace memscope::fuzz
