// Names of processes and cgroups, and numbers that people type.
#include "base/text.h"
#include "base/units.h"
#include "fuzz.h"
#include "outputs/text/text_layout.h"

namespace memscope::fuzz {

void one(std::string_view bytes) {
    const std::string utf8 = valid_utf8(bytes);
    require(is_utf8(utf8), "valid_utf8() is valid UTF-8", utf8);
    require(!is_utf8(bytes) || utf8 == bytes, "valid_utf8() leaves valid text alone", utf8);

    const std::string shown = printable(bytes);
    require(is_clean(shown), "printable() is one line without control characters", shown);
    require(shown.size() >= utf8.size() && printable(shown) == shown, "printable() twice is printable() once", shown);

    const std::string cut = shortened(utf8);
    require(is_utf8(cut) && cut.size() <= 63, "shortened() keeps to whole characters and to 60 bytes", cut);
    for (const std::size_t width : {0, 1, 7, 80}) {
        require(display_width(left(shown, width)) == width, "left() fills its columns", shown);
        require(display_width(right(shown, width)) == width, "right() fills its columns", shown);
    }

    std::size_t parts = 0;
    for (const std::string_view part : split(bytes, ':')) parts += part.size() + 1;
    require(parts == bytes.size() + 1, "split() loses nothing");
    const std::string_view core = trimmed(bytes);
    require(trimmed(core) == core, "trimmed() twice is trimmed() once");

    if (const auto number = parse_number(bytes))
        require(bytes.find_first_not_of("0123456789") == std::string_view::npos, "a number is digits");
    if (const auto size = parsed(parse_size(bytes))) require(!human_size(*size).empty(), "a size can be shown");
    if (const auto duration = parsed(parse_duration(bytes)))
        require(duration->count() >= 0 && !human_duration(*duration).empty(), "a duration is not negative");
}

}  // namespace memscope::fuzz
