#include "analysis/roles/role_rules.h"

#include <algorithm>
#include <array>
#include <fnmatch.h>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace memscope {
namespace {

// How to distinguish an interpreter's own options from its script.
struct Interpreter {
    std::string_view name;              // the name, or its prefix if `versions`
    bool versions;                      // a version may follow: "python3.11"
    std::string_view takes_value;       // short options with a value
    char code;                          // short option whose value is the program itself
    char module;                        // short option whose value names a module, 0 if there is none
    std::string_view long_takes_value;  // the only relevant long option with a value
};
constexpr Interpreter kInterpreters[] = {
    {"python", true, "WXQ", 'c', 'm', "--check-hash-based-pycs"},
    {"pypy", true, "WXQ", 'c', 'm', "--check-hash-based-pycs"},
    {"bash", false, "oO", 'c', 0, "--rcfile"},
    {"sh", false, "o", 'c', 0, ""},
    {"dash", false, "o", 'c', 0, ""},
    {"zsh", false, "o", 'c', 0, ""},
    {"ksh", false, "o", 'c', 0, ""},
};

std::string_view program_of(std::string_view path) {
    path.remove_prefix(path.rfind('/') + 1);           // npos + 1 is 0
    if (path.starts_with('-')) path.remove_prefix(1);  // a login shell
    return path;
}

const Interpreter* interpreter_called(std::string_view name) {
    const auto found = std::ranges::find_if(kInterpreters, [&](const Interpreter& known) {
        return known.versions ? name.starts_with(known.name) : name == known.name;
    });
    return found == std::end(kInterpreters) ? nullptr : found;
}

std::optional<std::string_view> script_of(const Interpreter& interpreter, const std::vector<std::string>& argv) {
    for (std::size_t i = 1; i < argv.size(); ++i) {
        const std::string_view argument = argv[i];
        if (argument.empty() || argument == "-") return std::nullopt;  // the program comes from standard input
        if (argument.front() != '-') return program_of(argument);
        if (argument.starts_with("--")) {
            if (argument == interpreter.long_takes_value) ++i;
            continue;
        }
        for (std::size_t at = 1; at < argument.size(); ++at) {  // flags may be combined: -um torch.distributed.run
            const char flag = argument[at];
            const std::string_view rest = argument.substr(at + 1);
            if (flag == interpreter.code) return std::nullopt;
            if (interpreter.module != 0 && flag == interpreter.module) {
                if (!rest.empty()) return rest;
                return i + 1 < argv.size() ? std::optional<std::string_view>(argv[i + 1]) : std::nullopt;
            }
            if (interpreter.takes_value.find(flag) == std::string_view::npos) continue;
            if (rest.empty()) ++i;
            break;
        }
    }
    return std::nullopt;
}

}  // namespace

std::vector<std::string_view> program_names(std::string_view comm, const std::vector<std::string>& argv) {
    std::string_view program = argv.empty() ? comm : program_of(argv.front());
    if (program.empty()) program = comm;
    std::vector<std::string_view> names{program};
    if (const Interpreter* interpreter = interpreter_called(program))
        if (const auto script = script_of(*interpreter, argv)) names.push_back(*script);
    return names;
}

namespace {

// A glob that is parsed once and then compared with many words. Nearly all globs are plain text with a `*` at an end,
// and fnmatch() costs twenty times such a comparison: a trainer with many arguments would take 50 us.
class Glob {
  public:
    explicit Glob(const std::string& pattern) : pattern_(pattern), core_(pattern) {
        open_front_ = core_.starts_with('*');
        if (open_front_) core_.remove_prefix(1);
        open_back_ = core_.ends_with('*');
        if (open_back_) core_.remove_suffix(1);
        plain_ = core_.find_first_of("*?[\\") == std::string_view::npos;
    }

    bool matches(std::string_view text) const {
        if (!plain_) return ::fnmatch(pattern_.c_str(), std::string(text).c_str(), 0) == 0;
        if (open_front_ && open_back_) return text.find(core_) != std::string_view::npos;
        if (open_front_) return text.ends_with(core_);
        if (open_back_) return text.starts_with(core_);
        return text == core_;
    }

  private:
    const std::string& pattern_;
    std::string_view core_;
    bool open_front_ = false;
    bool open_back_ = false;
    bool plain_ = false;
};

bool any_matches(const std::string& pattern, const auto& texts) {
    if (pattern.empty()) return true;
    const Glob glob(pattern);
    return std::ranges::any_of(texts, [&](std::string_view text) { return glob.matches(text); });
}

}  // namespace

Role decide_role(const RoleFacts& facts, std::span<const RoleRule> rules) {
    const auto programs = program_names(facts.comm, facts.argv);
    for (const RoleRule& rule : rules) {
        if (rule.parent && rule.parent != facts.parent_role) continue;
        if (rule.forked_without_exec && *rule.forked_without_exec != facts.forked_without_exec) continue;
        if (rule.own_memory && *rule.own_memory != facts.own_memory) continue;
        if (rule.gpu_context && *rule.gpu_context != facts.gpu_context) continue;
        if (!any_matches(rule.comm, std::array{facts.comm})) continue;
        if (!any_matches(rule.program, programs)) continue;
        if (!any_matches(rule.argument, facts.argv)) continue;
        return rule.role;
    }
    return Role::other;
}

namespace {

// Programs that start other programs and do no work themselves. They are also matched as the script or module of an
// interpreter (torchrun is one).
constexpr std::string_view kLaunchers =
    // environments
    "uv uvx poetry pipenv pdm rye hatch pixi conda mamba micromamba direnv "
    // shells, and what is put before a command
    "bash sh dash zsh ksh fish busybox su sudo doas runuser setpriv env nohup timeout time nice ionice chrt taskset "
    "numactl setsid stdbuf unbuffer script xargs parallel flock make just strace ltrace perf gdb nsys ncu "
    // sessions and services
    "login screen SCREEN zellij mosh-server systemd systemd-run supervisord runsv cron crond "
    "jupyter jupyter-* jupyterhub jupyterhub-* "
    // containers
    "tini tini-static dumb-init catatonit docker-init s6-* docker podman nerdctl runc crun conmon bwrap unshare "
    "nsenter chroot enroot apptainer singularity "
    // distributed training
    "torchrun torch.distributed.run torch.distributed.launch accelerate accelerate-launch accelerate.commands.* "
    "deepspeed deepspeed.launcher.* horovodrun horovod.runner* colossalai composer composer.cli.launcher fabric "
    "torchx ray ray.scripts.scripts clearml-agent "
    // clusters
    "srun salloc sbatch slurmstepd mpirun mpiexec mpiexec.hydra orterun prterun orted prted hydra_pmi_proxy "
    "hydra_bstrap_proxy pdsh jsrun flux-shell condor_starter sge_shepherd";

// Programs that rewrite argv[0] into a title ("sshd: user@pts/0") are matched by their process name. pt_elastic is
// PyTorch's name for the agent inside torchrun and accelerate.
constexpr std::string_view kLauncherComms = "pt_elastic sshd* tmux* slurmstepd* containerd-shim* starter*";

constexpr std::string_view kHelpers =
    // experiment tracking
    "wandb wandb-* wandb.cli* wandb.sdk* gpu_stats nvidia_gpu_stats tensorboard tensorboard.main mlflow aim "
    // monitors
    "nvidia-smi nvtop nvitop gpustat dcgmi nv-hostengine nvidia-cuda-mps-* py-spy top htop btop "
    // PyTorch, Ray, ssh
    "torch_shm_manager raylet gcs_server redis-server ssh-agent";

constexpr const char* kHelperArguments[] = {
    "*multiprocessing.resource_tracker import*",
    "*multiprocessing.semaphore_tracker import*",  // its name before Python 3.8
    "*multiprocessing.forkserver import*",
    "*loky.backend.resource_tracker*",
    "*/tensorboard_data_server/*",
    "*/debugpy/adapter*",
    "*/ray/dashboard/*",
    "*/ray/_private/log_monitor.py",
    "*/ray/_private/runtime_env/agent/*",
    "*/ray/autoscaler/_private/monitor.py",
};

// multiprocessing's start method `spawn`: a new interpreter that gets its work through a pipe.
constexpr const char* kSpawnArguments[] = {"*multiprocessing.spawn import*", "--multiprocessing-fork"};

struct Descent {
    Role parent;
    Role child;
};
constexpr Descent kDescents[] = {
    {Role::trainer, Role::dataloader_worker},
    {Role::dataloader_worker, Role::dataloader_worker},
    {Role::compile_worker, Role::compile_worker},
    {Role::helper, Role::helper},
};

// A fork keeps the argv of its parent, so the rules for forks come before all rules about argv.
void add_forks(std::vector<RoleRule>& rules) {
    rules.push_back({.role = Role::dataloader_worker, .comm = "pt_data_worker*"});
    // Between vfork and exec, a process holds no memory of its own.
    rules.push_back({.role = Role::other, .forked_without_exec = true, .own_memory = false});
    // A process of a fork server does the work of the trainer that requested it. This is the default from Python 3.14
    // on.
    rules.push_back({.role = Role::dataloader_worker,
                     .argument = "*multiprocessing.forkserver import*",
                     .parent = Role::helper,
                     .forked_without_exec = true});
    // A DataLoader worker does not use the GPU. A rank that was forked by the script does.
    rules.push_back({.role = Role::trainer, .parent = Role::trainer, .forked_without_exec = true, .gpu_context = true});
    for (const auto& [parent, child] : kDescents)
        rules.push_back({.role = child, .parent = parent, .forked_without_exec = true});
}

std::vector<RoleRule> make_rules() {
    std::vector<RoleRule> rules;
    add_forks(rules);
    rules.push_back({.role = Role::compile_worker, .argument = "*torch/_inductor/compile_worker*"});
    // `wandb agent` starts the runs of a sweep.
    for (const char* agent : {"agent", "launch-agent"})
        rules.push_back({.role = Role::launcher, .program = "wandb", .argument = agent});
    rules.push_back({.role = Role::helper, .comm = "ray::IDLE*"});
    for (const char* argument : kHelperArguments) rules.push_back({.role = Role::helper, .argument = argument});
    for (const auto program : split(kHelpers, ' '))
        rules.push_back({.role = Role::helper, .program = std::string(program)});
    for (const char* argument : kSpawnArguments)  // torch.multiprocessing.spawn
        rules.push_back({.role = Role::trainer, .argument = argument, .parent = Role::trainer, .gpu_context = true});
    for (const char* argument : kSpawnArguments)
        for (const auto& [parent, child] : kDescents)
            rules.push_back({.role = child, .argument = argument, .parent = parent});
    // joblib's workers run any Python function, so they are not trainers.
    rules.push_back({.role = Role::other, .program = "*loky.backend.popen_loky_posix"});
    for (const auto comm : split(kLauncherComms, ' '))
        rules.push_back({.role = Role::launcher, .comm = std::string(comm)});
    for (const auto program : split(kLaunchers, ' '))
        rules.push_back({.role = Role::launcher, .program = std::string(program)});
    for (const char* script :
         {"*/torch/distributed/run.py", "*/torch/distributed/launch.py", "*/accelerate/commands/*"})
        rules.push_back({.role = Role::launcher, .program = "python*", .argument = script});
    for (const char* title : {"ray::*", "VLLM::*", "sglang::*"})  // they rewrite argv, too
        rules.push_back({.role = Role::trainer, .comm = title});
    for (const char* program : {"python*", "pypy*", "ipython*"})
        rules.push_back({.role = Role::trainer, .program = program});
    rules.push_back({.role = Role::trainer, .gpu_context = true});  // a program in any language
    return rules;
}

}  // namespace

const std::vector<RoleRule>& builtin_role_rules() {
    static const std::vector<RoleRule> rules = make_rules();
    return rules;
}

}  // namespace memscope
