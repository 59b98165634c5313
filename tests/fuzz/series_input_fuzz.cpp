// A series in any of the formats that memscope verdict reads, with options of every kind.
#include "base/text.h"
#include "cli/series/series_input.h"
#include "fuzz.h"

namespace memscope::fuzz {

void one(std::string_view bytes) {
    const SeriesChoice choices[] = {
        {},           {.value = "a", .interval = Seconds(5)}, {.time = "a", .value = "b", .unit = "MiB"},
        {.gpu = "0"}, {.value = "kbcommit", .unit = "kB"},
    };
    for (const SeriesChoice& choice : choices) {
        std::optional<Seconds> last;
        SeriesInput input(choice, [&](Seconds time, Bytes size) {
            require(!last || *last <= time, "time runs on");
            require(size.n < std::uint64_t{1} << 63U, "a size is in range");
            last = time;
        });
        bool right = true;
        for_each_line(bytes, [&](std::string_view line) { right = right && parsed(input.add_line(line)).has_value(); });
        if (right) (void)parsed(input.finish());
    }
}

}  // namespace memscope::fuzz
