// Evidence for deaths of processes, which choose their own names, and lines of the kernel log with such names in them.
#include "analysis/deaths/death_sentence.h"
#include "analysis/deaths/decide_death.h"
#include "fuzz.h"
#include "kernel/features/decode.h"
#include "sources/proc/kernel_log.h"

namespace memscope::fuzz {

void one(std::string_view bytes) {
    const auto logged = parse_oom_line(bytes);
    if (logged) require(logged->thread > 0, "a process has a number");
    const auto evidence = decode_death(std::as_bytes(std::span(bytes.data(), bytes.size())), 4096);
    parsed(evidence);
    if (!evidence) return;
    const auto death = decide_death(*evidence, {.target = "train", .logged = logged ? &*logged : nullptr});
    if (!death) return;
    require(death->signal || death->exit_status, "it ended somehow");
    require(death->oom.has_value() == (death->cause == DeathCause::oom_kill), "an OOM kill, and no other, has a limit");
    const std::string text = death_sentence(*death);
    require(!text.empty() && is_clean(text), "a death is told in one clean line", text);
    DeathTally tally;
    tally.add(*death);
    require(tally.of(death->cause) == 1, "a death is counted once");
}

}  // namespace memscope::fuzz
