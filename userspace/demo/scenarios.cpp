#include <algorithm>

#include "demo/answers.h"
#include "demo/scenario.h"

namespace memscope {
namespace {

constexpr Seconds kLoading{5};  // the time to load the model

Actor worker() { return {.comm = "pt_data_worker", .role = Role::dataloader_worker, .holds = constant(mebibytes(24))}; }

Actor trainer(Curve holds, std::vector<Actor> workers) {
    return {.comm = "python", .role = Role::trainer, .holds = std::move(holds), .children = std::move(workers)};
}

Actor launcher(const char* comm, Actor child) {
    return {.comm = comm, .role = Role::launcher, .children = {std::move(child)}};
}

Actor usual_job(Curve trainer_holds) {
    return launcher("torchrun", trainer(std::move(trainer_holds), {worker(), worker()}));
}

Curve model(std::uint64_t size) { return warming_up(mebibytes(size / 4), mebibytes(size), kLoading); }

Actor sharing_job() {
    Actor rewriter = worker();
    rewriter.holds = constant({});
    rewriter.rewrites = leaking(Bytes{5ULL << 19}, Seconds{2});  // 2.5 MiB a second
    Actor parent = trainer(constant(mebibytes(32)), {rewriter, rewriter, rewriter});
    parent.dataset = mebibytes(200);
    return launcher("torchrun", std::move(parent));
}

Actor fragmenting_job() {
    Actor parent = trainer(constant(mebibytes(16)), {worker()});
    parent.mallocs = leaking(mebibytes(8), kLoading);
    return launcher("torchrun", std::move(parent));
}

Actor crashing_job() {
    Actor top = launcher("torchrun", trainer(constant(mebibytes(48)) + leaking(mebibytes(16), {}), {worker()}));
    top.restarts = true;
    return top;
}

Actor wrapped_job() {
    Actor hidden = trainer(model(64) + leaking(mebibytes(5), kLoading), {worker()});
    return launcher("uv", launcher("bash", std::move(hidden)));
}

std::vector<Scenario> make_scenarios() {
    return {
        {.name = "leak",
         .story = "A trainer loads its model, then keeps 8 MiB more every second.",
         .limit = mebibytes(640),
         .job = {.script = "leak.py", .with_torch = "leak_torch.py"},
         .top = usual_job(model(96) + leaking(mebibytes(8), kLoading)),
         .answer = leak_answer},
        {.name = "warmup",
         .story = "A trainer grows fast, then slower and slower, as caches and pools fill up. Is that a leak?",
         .limit = mebibytes(512),
         .job = {.script = "warmup.py"},
         .top = usual_job(warming_up(mebibytes(48), mebibytes(288), Seconds{20})),
         .verdict = Verdict::stable,
         .answer = warmup_answer},
        {.name = "spikes",
         .story = "A trainer needs 120 MiB more for two seconds whenever it validates, and gives them back.",
         .limit = mebibytes(512),
         .job = {.script = "spikes.py"},
         .top = usual_job(spiking(mebibytes(96), mebibytes(120), Seconds{8}, Seconds{2})),
         .verdict = Verdict::spiky,
         .answer = spikes_answer},
        {.name = "steps",
         .story = "A trainer keeps a little more at each validation, and is flat in between.",
         .limit = mebibytes(512),
         .job = {.script = "steps.py"},
         .top = usual_job(stepping(mebibytes(96), mebibytes(24), Seconds{8})),
         .answer = steps_answer},
        {.name = "workers",
         .story = "A trainer loads a dataset and forks three workers that share it and read it. CPython's reference "
                  "counts are written, page after page.",
         .limit = mebibytes(768),
         .job = {.script = "workers.py", .workers = 3},
         .top = sharing_job(),
         .answer = workers_answer},
        {.name = "wrapper",
         .story = "You start a job with uv and watch uv, but a process below it grows.",
         .limit = mebibytes(512),
         .job = {.script = "wrapper.py", .launcher = "uv.sh", .called = "uv", .workers = 1},
         .top = wrapped_job(),
         .answer = wrapper_answer},
        {.name = "fragmentation",
         .story = "A trainer takes 8 MiB from malloc every second and frees nine tenths of it, but not in an order in "
                  "which malloc can give memory back. Is that a leak?",
         .limit = mebibytes(512),
         .job = {.script = "fragmentation.py", .workers = 1},
         .top = fragmenting_job(),
         .answer = fragmentation_answer},
        {.name = "crashloop",
         .story =
             "A trainer keeps more at each step until the kernel kills it at its limit, and its launcher starts it "
             "again and again.",
         .limit = mebibytes(256),
         .is_killed = true,
         .job = {.script = "crashloop.py", .launcher = "restart.sh", .workers = 1},
         .top = crashing_job(),
         .warmup = Seconds{3},  // a run lives only about 10 s
         .answer = crashloop_answer},
    };
}

void add_rules(std::vector<RoleRule>& rules, const Actor& actor) {
    if (std::ranges::find(rules, actor.comm, &RoleRule::comm) == rules.end())
        rules.push_back({.role = actor.role, .comm = actor.comm});
    for (const Actor& child : actor.children) add_rules(rules, child);
}

}  // namespace

const std::vector<Scenario>& scenarios() {
    static const std::vector<Scenario> all = make_scenarios();
    return all;
}

const Scenario* find_scenario(std::string_view name) {
    const auto found = std::ranges::find(scenarios(), name, &Scenario::name);
    return found == scenarios().end() ? nullptr : &*found;
}

std::string scenario_names() {
    std::string names;
    for (const Scenario& scenario : scenarios()) names += (names.empty() ? "" : ", ") + std::string(scenario.name);
    return names;
}

std::size_t count_actors(const Actor& top) {
    std::size_t count = 1;
    for (const Actor& child : top.children) count += count_actors(child);
    return count;
}

std::vector<RoleRule> role_rules_of(const Actor& top) {
    std::vector<RoleRule> rules;
    add_rules(rules, top);
    return rules;
}

}  // namespace memscope
