#include "outputs/growth/growth_text.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <ranges>
#include <utility>

#include "analysis/growth/attribution.h"
#include "analysis/growth/growth_sentence.h"
#include "analysis/growth/owner.h"
#include "base/text.h"
#include "outputs/growth/growth_frames.h"
#include "outputs/text/text_layout.h"

namespace memscope {
namespace {

constexpr std::size_t kNarrowest = 40;
constexpr std::size_t kWidest = 500;
constexpr std::size_t kBytes = 9;
constexpr std::size_t kShare = 6;
constexpr std::size_t kRole = 20;
constexpr std::size_t kProcesses = 6;
constexpr std::size_t kIndent = kBytes + kShare + 2;
constexpr std::size_t kShortStack = 2;

struct Explained {
    const char* title;
    const char* meaning;
    const char* limit;
};
constexpr Explained kResident{"RESIDENT", "",  // resident_meaning()
                              "By the line that touched the memory first. An allocator may have handed it out again "
                              "since, so this line need not be the owner."};
constexpr Explained kMapped{
    "MAPPED", "mapped here and not unmapped since",
    "Touched or not. Small objects appear where their allocator mapped more memory, not where each was created."};

constexpr Explained kTensorsHost{
    "HOST TENSORS", "storages of PyTorch's tensors in host memory, allocated here and not freed since",
    "Exact since PyTorch was first seen. Tensors whose memory another library owns, such as numpy, are not among "
    "them."};
constexpr Explained kGpu{"GPU", "allocated here from the CUDA driver and not freed since",
                         "Includes the cache of a caching allocator, which counts at the line that filled it, not at "
                         "the lines that use it later."};
constexpr Explained kPinned{"PINNED", "host memory pinned here through the CUDA driver and not unpinned since",
                            "Memory that was allocated as pinned is shared memory of the process. Memory that was "
                            "registered later changes no counter of the kernel."};

struct Reason {
    std::string_view word;
    std::string_view meaning;
};
constexpr Reason kReasons[] = {
    {"external", "changed by the kernel or another process"},
    {"exited", "freed at the end of processes"},
    {"other", "at more different stacks than can be recorded"},
    {"unknown_stack", "at stacks whose names were lost"},
    {"pending", "at stacks that are still being read: ask again in a moment"},
    {"paused", "while the hook was paused, because it cost too much"},
    {"no_address", "without a known address: populated by mmap or mlock, or by the kernel"},
    {"before", "memory from before watching began, freed since, or sampling error"},
    {"freed_since", "freed since then"},
    {"small_before", "at call sites that were too small to be stored at that time"},
    {"smaller_sites", "at smaller call sites"},
    {"below_step", "less than 512 KiB in a process, or not counted yet"},
    {"lost", "mapped while events were lost"},
    {"no_room", "in more allocations than can be recorded"},
    {"too_many_ranges", "in address spaces with too many ranges"},
};

std::string share_text(std::int64_t bytes, std::int64_t sum) {
    if (bytes <= 0 || sum <= 0) return "";
    const double percent = 100 * static_cast<double>(bytes) / static_cast<double>(sum);
    return percent < 1 ? "<1 %" : fmt::format("{:.0f} %", percent);
}

// Cuts whole directories from the front of a path, because its end is more useful. Never cuts the file name.
std::string tail_of(const std::string& path, std::size_t width) {
    if (display_width(path) <= width) return path;
    for (auto slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
        if (display_width(std::string_view(path).substr(slash)) < width) return "…" + path.substr(slash);
    return file_name(path);
}

// A row with as many words as fit, then the number of the other words.
std::string row_of(std::string_view head, const std::vector<std::string>& words, std::string_view between,
                   std::size_t width) {
    std::string row(head);
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string next = (i == 0 ? " " : std::string(between)) + words[i];
        const std::size_t left_over = words.size() - i;
        const std::string more = fmt::format("{}… {} more", i == 0 ? " " : between, left_over);
        const bool last = left_over == 1;
        if (display_width(row) + display_width(next) + (last ? 0 : display_width(more)) > width) {
            if (i == 0) return shortened_to(row + next, width);
            return shortened_to(row + more, width);
        }
        row += next;
    }
    return row;
}

std::string frame_text(const PythonFrame& frame) {
    const PythonFrame shortly{frame.function, file_name(frame.file), frame.line};
    return printable(name_of(frame)) + " (" + printable(place_of(shortly)) + ")";
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : std::string(between)) + word;
    return text;
}

// The callers of an own line: all of the user's own frames, and the number of library frames between them. Equal frames
// in a row, as in a recursion, are one word.
std::vector<std::string> callers_without_libraries(std::span<const PythonFrame> callers) {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < callers.size();) {
        const bool library = is_library(callers[i]);
        std::size_t end = i + 1;
        while (end < callers.size() && (library ? is_library(callers[end]) : callers[end] == callers[i])) ++end;
        const std::size_t count = end - i;
        if (library)
            words.push_back(
                fmt::format("… {} library frame{}{}", count, count == 1 ? "" : "s", end < callers.size() ? " …" : ""));
        else
            words.push_back(frame_text(callers[i]) + (count > 1 ? fmt::format(" ×{}", count) : ""));
        i = end;
    }
    return words;
}

// Rows of words; only a word that is longer than a row is cut.
std::vector<std::string> rows_of(std::string_view head, const std::vector<std::string>& words, std::string_view between,
                                 std::size_t width) {
    std::vector<std::string> rows;
    std::string row(head);
    bool empty = true;
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::string next = " " + words[i];
        if (i + 1 < words.size()) next += between.substr(0, between.size() - 1);  // without the space at its end
        if (!empty && display_width(row) + display_width(next) > width) {
            rows.push_back(shortened_to(row, width));
            row = std::string(display_width(head), ' ');
        }
        row += next;
        empty = false;
    }
    if (!empty) rows.push_back(shortened_to(row, width));
    return rows;
}

std::vector<std::string> caller_rows(std::span<const PythonFrame> callers, std::size_t width) {
    if (callers.empty()) return {};
    constexpr std::string_view kHead = "from";
    constexpr std::string_view kBetween = " ‹ ";
    std::vector<std::string> all;
    for (const PythonFrame& frame : callers) all.push_back(frame_text(frame));
    if (kHead.size() + 1 + display_width(joined(all, kBetween)) <= width) return {"from " + joined(all, kBetween)};
    return rows_of(kHead, callers_without_libraries(callers), kBetween, width);
}

// The library frames and native functions that an own line called, outermost first. Frames in the middle are cut,
// because the first frame shows what the line called, and the last frame shows what added the memory.
std::string calls_row(const std::vector<std::string>& calls, std::size_t width) {
    constexpr std::string_view kHead = "calls ";
    constexpr std::string_view kBetween = " › ";
    constexpr std::size_t kBetweenWidth = 3;
    const auto cut_text = [](std::size_t cut) { return fmt::format("… {} more …", cut); };
    // How many of the first frames fit, together with the last one.
    std::size_t used = kHead.size() + display_width(calls.back());
    std::size_t head = 0;
    for (std::size_t i = 0; i + 1 < calls.size(); ++i) {
        used += display_width(calls[i]) + kBetweenWidth;
        const std::size_t cut = calls.size() - 2 - i;
        if (used + (cut > 0 ? display_width(cut_text(cut)) + kBetweenWidth : 0) <= width) head = i + 1;
        if (used > width) break;
    }
    if (head == 0) return row_of("calls", calls, kBetween, width);
    std::vector<std::string> words(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(head));
    if (const std::size_t cut = calls.size() - 1 - head; cut > 0) words.push_back(cut_text(cut));
    words.push_back(calls.back());
    return std::string(kHead) + joined(words, kBetween);
}

// The lines below a call site: the callers of the own line, then the frames that it called.
std::vector<std::string> around(const GrowthSite& site, std::size_t width) {
    const SiteParts parts = parts_of(site);
    if (!parts.own) {
        std::vector<std::string> callers;
        for (const NativeFrame& frame : parts.native.subspan(std::min<std::size_t>(parts.native.size(), 1)))
            callers.push_back(printable(name_of(frame)));  // site_line() shows the innermost frame
        if (callers.empty()) return {};
        return {row_of("from", callers, " ‹ ", width)};
    }
    std::vector<std::string> lines = caller_rows(parts.callers, width);
    std::vector<std::string> calls;
    for (const PythonFrame& frame : parts.inside | std::views::reverse) calls.push_back(frame_text(frame));
    for (const NativeFrame& frame : parts.native | std::views::reverse) calls.push_back(printable(name_of(frame)));
    if (!calls.empty()) lines.push_back(calls_row(calls, width));
    return lines;
}

// The heap or stack that was enlarged at a site of the mapped plane. Empty if the line mapped the memory for itself.
std::string_view enlarged(const GrowthSite& site) {
    return site.native.empty() ? std::string_view() : enlarged_by(site.native.front().symbol);
}

class TextWriter {
  public:
    explicit TextWriter(const TextLook& look)
        : width_(std::clamp(look.columns, kNarrowest, kWidest)), paint_(look.colour) {}

    void line(std::string_view text, Colour colour = Colour::none) {
        out_ += paint_(colour, shortened_to(text, width_)) + "\n";
    }
    void wrapped(std::string_view text, Colour colour) {
        for (const std::string& row : wrapped_lines(text, width_)) line(row, colour);
    }
    void plane(const Explained& explained, const GrowthPlane& plane, const GrowthReport& report);
    void host_tensors(const GrowthReport& report);  // how they are recorded
    bool short_native() const { return short_native_; }
    std::string text() && { return std::move(out_); }

  private:
    void site(const GrowthSite& site, std::size_t stacks, std::int64_t sum, std::string_view note);
    void rest(const GrowthPlane& plane, const ShownSites& shown, bool stacks);

    std::size_t width_;
    Paint paint_;
    std::string out_{};
    bool short_native_ = false;
};

void TextWriter::site(const GrowthSite& site, std::size_t stacks, std::int64_t sum, std::string_view note) {
    const std::string numbers =
        right(human_growth(site.bytes), kBytes) + right(share_text(site.bytes, sum), kShare) + "  ";
    const std::string role_and_count =
        left(role_text(site.role), kRole) + right(std::to_string(site.pids.size()), kProcesses) + "  ";
    const std::size_t one_line = display_width(numbers) + display_width(role_and_count);
    if (one_line + kNarrowest <= width_ + 5) {
        out_ += numbers + role_and_count + paint_(Colour::bold, site_line(site, width_ - one_line)) + "\n";
    } else {  // no room beside the numbers
        line(numbers + left(role_text(site.role), kRole));
        out_ += std::string(2, ' ') + paint_(Colour::bold, site_line(site, width_ - 2)) + "\n";
    }
    const std::size_t indent = width_ > 2 * kIndent + kNarrowest / 2 ? kIndent : 4;
    if (!note.empty())
        out_ += std::string(indent, ' ') + paint_(Colour::dim, shortened_to(note, width_ - indent)) + "\n";
    for (const std::string& below : around(site, width_ - indent))
        out_ += std::string(indent, ' ') + paint_(Colour::dim, below) + "\n";
    if (stacks > 1)
        out_ += std::string(indent, ' ') +
                paint_(Colour::dim, shortened_to(fmt::format("and {} other stack{} (--stacks shows {})", stacks - 1,
                                                             stacks == 2 ? "" : "s", stacks == 2 ? "it" : "them"),
                                                 width_ - indent)) +
                "\n";
    if (site.python.empty() && site.native.size() <= kShortStack) short_native_ = true;
}

void TextWriter::rest(const GrowthPlane& plane, const ShownSites& shown, bool stacks) {
    if (shown.left_out > 0)
        line(right(human_growth(shown.left_out_bytes), kBytes) +
                 fmt::format("  at {} more {} (--top shows more)", shown.left_out, stacks ? "stacks" : "call sites"),
             Colour::dim);
    for (const UnattributedGrowth& part : plane.unattributed) {
        const auto* known = std::ranges::find(kReasons, part.reason, &Reason::word);
        const std::string why =
            known == std::end(kReasons) ? printable(part.reason) : fmt::format("{}: {}", part.reason, known->meaning);
        if (part.bytes != 0) line(right(human_growth(part.bytes), kBytes) + "  not attributed, " + why, Colour::yellow);
    }
}

void TextWriter::plane(const Explained& explained, const GrowthPlane& plane, const GrowthReport& report) {
    std::int64_t net = 0;
    for (const GrowthSite& site : plane.sites) net = add_bytes(net, site.bytes);
    out_ += "\n";
    out_ += paint_(Colour::bold, explained.title) +
            shortened_to(fmt::format("  {}: {}", human_growth(net), explained.meaning),
                         width_ - std::string_view(explained.title).size()) +
            "\n";
    if (plane.sites.empty()) line("  nothing", Colour::dim);
    if (!plane.sites.empty()) {
        wrapped(explained.limit, Colour::dim);
        if (kIndent + kRole + kProcesses + kNarrowest <= width_ + 5)
            line(right("BYTES", kBytes) + right("SHARE", kShare) + "  " + left("ROLE", kRole) +
                     right("PROCS", kProcesses) + "  CALL SITE",
                 Colour::dim);
    }
    std::vector<std::size_t> stacks(plane.sites.size(), 1);
    GrowthPlane rows{.sites = {}, .unattributed = plane.unattributed};
    if (report.stacks) {
        rows.sites = plane.sites;
    } else {
        stacks.clear();
        for (OwnLine& line : own_lines(plane.sites)) {
            stacks.push_back(line.stacks);
            rows.sites.push_back(std::move(line.site));
        }
    }
    const ShownSites shown = shown_sites(rows, report.top);
    const std::int64_t sum = growth_sum(rows);
    for (std::size_t i = 0; i < shown.sites.size(); ++i)
        site(shown.sites[i], stacks[i], sum, &plane == &report.growth.mapped ? enlarged(shown.sites[i]) : "");
    rest(rows, shown, report.stacks);
}

void TextWriter::host_tensors(const GrowthReport& report) {
    const HostTensorRecording& recording = report.growth.host_tensors;
    if (recording.paused_at_rate)
        wrapped(fmt::format("paused: {:.0f} storages a second would cost more than the budget (--growth-budget). The "
                            "recording starts anew later.",
                            *recording.paused_at_rate),
                Colour::yellow);
    else if (recording.since_seconds)
        wrapped(fmt::format("recorded since {} ago: storages from before are not known",
                            human_duration(Seconds(std::max(report.time - *recording.since_seconds, 0.0)))),
                Colour::dim);
}

}  // namespace

std::string_view resident_meaning(ResidentMethod method) {
    switch (method) {
        case ResidentMethod::live:
            return "live memory, where it was first touched";
        case ResidentMethod::first_touch:
            return "first touch, frees not matched";
        case ResidentMethod::none:
            break;
    }
    return "not known with --no-maps";
}

std::string resident_state(const Growth& growth) {
    constexpr Seconds kSomeTime{10};
    std::string text(resident_meaning(growth.resident_method));
    if (growth.resident_method == ResidentMethod::live && growth.pages_checked && *growth.pages_checked >= kSomeTime)
        text += fmt::format(", checked {} ago", human_duration(*growth.pages_checked));
    return text;
}

std::string human_growth(std::int64_t bytes) {
    const auto size = bytes < 0 ? -static_cast<std::uint64_t>(bytes) : static_cast<std::uint64_t>(bytes);
    return (bytes < 0 ? "-" : "") + human_size(Bytes{size});
}

std::string role_text(const RoleKey& role) {
    return role.rank ? fmt::format("{} {}", name_of(role.role), *role.rank) : std::string(name_of(role.role));
}

std::int64_t growth_sum(const GrowthPlane& plane) {
    std::int64_t sum = 0;
    for (const GrowthSite& site : plane.sites) sum = add_bytes(sum, std::max<std::int64_t>(site.bytes, 0));
    for (const UnattributedGrowth& part : plane.unattributed)
        sum = add_bytes(sum, std::max<std::int64_t>(part.bytes, 0));
    return sum;
}

std::string site_line(const GrowthSite& site, std::size_t width) {
    const SiteParts parts = parts_of(site);
    if (!parts.own)
        return shortened_to(parts.native.empty() ? "no stack" : printable(name_of(parts.native.front())), width);
    const std::string place = printable(place_of(*parts.own));
    const std::string function = printable(own_name(site.python));
    const std::size_t least = display_width(file_name(place)) + 2;  // "…/train.py:41"
    const std::size_t named = std::min(display_width(function), width > least + 1 ? width - least - 1 : 0);
    const std::string shown = tail_of(place, width > named + 1 ? width - named - 1 : 1);
    return shortened_to(shown + " " + function, width);
}

std::string growth_text(const GrowthReport& report, const TextLook& look) {
    TextWriter writer(look);
    if (!report.growth.sentence.empty()) {
        writer.wrapped(printable(report.growth.sentence), Colour::bold);
        writer.line("");
    }
    writer.line(fmt::format("{}  what grew {}, by {}", printable(report.target.name),
                            span_text(report.growth.span, report.time), report.stacks ? "stack" : "own line"),
                Colour::bold);
    const std::string meaning = resident_state(report.growth);
    Explained resident = kResident;
    resident.meaning = meaning.c_str();
    writer.plane(resident, report.growth.resident, report);
    writer.plane(kMapped, report.growth.mapped, report);
    for (const auto& [explained, plane] : {std::pair(kTensorsHost, &report.growth.tensors_host),
                                           {kGpu, &report.growth.gpu},
                                           {kPinned, &report.growth.pinned}})
        if (!plane->sites.empty() || !plane->unattributed.empty()) {
            writer.plane(explained, *plane, report);
            if (plane == &report.growth.tensors_host) writer.host_tensors(report);
        }
    const Growth& growth = report.growth;
    if (growth.file_mapped_bytes != 0 || growth.reserved_bytes != 0)
        writer.line(fmt::format("  not counted as growth: {} of mapped files, {} reserved without access",
                                human_growth(growth.file_mapped_bytes), human_growth(growth.reserved_bytes)),
                    Colour::dim);
    if (writer.short_native())
        writer.wrapped("Short native stacks: code that is built without frame pointers hides its callers.",
                       Colour::dim);
    return std::move(writer).text();
}

}  // namespace memscope
