// Data that NVIDIA's management library writes: texts, and lists of processes with entries of any length.
#include <span>
#include <vector>

#include "fuzz.h"
#include "sources/gpu/nvml.h"

namespace memscope::fuzz {

void one(std::string_view bytes) {
    Input input(bytes);
    const auto count = input.number<std::uint16_t>();
    const std::size_t slack = input.number();
    std::vector<std::byte> buffer(input.rest().size() + slack, kNvmlSentinel);  // as it is handed to the library
    if (!input.rest().empty()) std::memcpy(buffer.data(), input.rest().data(), input.rest().size());
    if (const auto holders = parse_nvml_processes(buffer, count)) {
        require(holders->size() <= count && holders->size() * 16 <= buffer.size(),
                "no more processes than were written");
        for (const GpuHolder& holder : *holders) require(holder.pid > 0, "a process has a pid");
    }
    const std::string text = nvml_text({input.rest().data(), input.rest().size()});
    require(is_clean(text), "a text is clean", text);
}

}  // namespace memscope::fuzz
