#include "example.h"

namespace memscope::view::test {
namespace {

std::string name_of_row(const RowId& id) {
    return id.process ? std::to_string(id.process->pid) : std::string(name_of(id.role.role));
}

}  // namespace

Process process(pid_t pid, Role role, const char* comm, const char* command, Bytes anon) {
    Process process;
    process.task.id = {pid, static_cast<std::uint64_t>(pid) * 1000};
    process.task.comm = comm;
    process.task.memory = AddressSpace{.anon = anon, .file = mib(10), .shmem = mib(2)};
    process.task.threads = 4;
    process.task.faults = {1000, 0};
    process.role = role;
    process.command = std::make_shared<const std::string>(command);
    return process;
}

void count_roles(TargetSnapshot& target) {
    target.roles.clear();
    target.counters.clear();
    for (const Process& process : target.processes) {
        const RoleKey key{process.role, process.rank};
        RoleTotals& totals = target.roles[key];
        if (const auto& memory = process.task.memory) {
            totals.anon += memory->anon;
            totals.file += memory->file;
            totals.shmem += memory->shmem;
            totals.inherited += process.inherited;
        }
        totals.processes += 1;
        totals.threads += process.task.threads;
        target.counters[key].starts += 1;
        target.counters[key].faults.minor += process.task.faults.minor;
    }
}

TargetSnapshot training(const char* name) {
    TargetSnapshot target;
    target.info.name = name;
    auto& memory = target.memory;
    memory.usage = gib(47);
    memory.by_kind = {gib(40), gib(1), gib(5), mib(600), mib(424)};
    memory.unreclaimable = gib(41);
    memory.effective = EffectiveLimit{"own", gib(64), gib(23)};
    memory.events = MemoryEvents{};
    memory.pressure = Pressure{Seconds{1}, Seconds{1}, 0.0, 0.0};
    target.processes = {process(100, Role::launcher, "torchrun", "/usr/bin/torchrun train.py", mib(80)),
                        process(101, Role::trainer, "python3", "/usr/bin/python3 -u train.py", gib(31)),
                        process(110, Role::dataloader_worker, "pt_data_worker", "python3 -u train.py", gib(2)),
                        process(111, Role::dataloader_worker, "pt_data_worker", "python3 -u train.py", gib(3)),
                        process(112, Role::dataloader_worker, "pt_data_worker", "python3 -u train.py", gib(1))};
    count_roles(target);
    return target;
}

Snapshot example(double time) {
    Snapshot snapshot;
    snapshot.time = time;
    snapshot.targets = {training()};
    snapshot.self.resident = mib(21);
    snapshot.self.tick_duration = Seconds{0.0021};
    snapshot.self.dropped = {{"tree_ring_full", 0}};
    return snapshot;
}

Screen::Screen(Snapshot first) { tick(std::move(first)); }

void Screen::tick(Snapshot next) {
    snapshot = std::move(next);
    add_deaths(state, snapshot);
    add_unsharing(state, snapshot);
    history.add(snapshot);
    draw();
}

Reaction Screen::key(Key::Code code) {
    const Reaction reaction = press(state, {code}, snapshot, scene);
    draw();
    return reaction;
}

Reaction Screen::type(const std::string& text) {
    Reaction reaction = Reaction::none;
    for (const char c : text) {
        reaction = press(state, {Key::Code::character, std::string(1, c)}, snapshot, scene);
        draw();
    }
    return reaction;
}

void Screen::draw() { scene = render(state, snapshot, history, look, growth ? &*growth : nullptr); }

std::string Screen::text() const {
    std::string all;
    for (const Line& line : scene.lines) all += line.text() + "\n";
    return all;
}

std::vector<std::string> Screen::names() const {
    std::vector<std::string> names;
    for (const Row& row : scene.tree.rows) names.push_back(name_of_row(row.id));
    return names;
}

std::string Screen::selected() const {
    return state.selected_index < scene.tree.rows.size() ? name_of_row(scene.tree.rows[state.selected_index].id) : "";
}

}  // namespace memscope::view::test
