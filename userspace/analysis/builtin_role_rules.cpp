#include <string_view>

#include "analysis/role_rules.h"
#include "base/text.h"

namespace memscope {
namespace {

// They hold children and do no work. Also matched as the script or module of an interpreter (torchrun is one).
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

// Those that rewrite argv[0] into a title ("sshd: user@pts/0") are known by their process name. pt_elastic is what
// PyTorch calls the agent inside torchrun and accelerate.
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

// multiprocessing's start method `spawn`: a new interpreter that is given its work through a pipe.
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

// A fork keeps the argv of its parent, so what forks are comes before everything that argv says.
void add_forks(std::vector<RoleRule>& rules) {
    rules.push_back({.role = Role::dataloader_worker, .comm = "pt_data_worker*"});
    // On its way from vfork to exec it holds nothing of its own.
    rules.push_back({.role = Role::other, .forked_without_exec = true, .own_memory = false});
    // What a fork server forks is the work of the trainer that asked for it; the default from Python 3.14 on.
    rules.push_back({.role = Role::dataloader_worker,
                     .argument = "*multiprocessing.forkserver import*",
                     .parent = Role::helper,
                     .forked_without_exec = true});
    // A worker that loads data leaves the GPU alone; one rank of several, forked by the script, does not.
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
    // joblib's workers compute for whoever asks: Python, but no trainers.
    rules.push_back({.role = Role::other, .program = "*loky.backend.popen_loky_posix"});
    for (const auto comm : split(kLauncherComms, ' '))
        rules.push_back({.role = Role::launcher, .comm = std::string(comm)});
    for (const auto program : split(kLaunchers, ' '))
        rules.push_back({.role = Role::launcher, .program = std::string(program)});
    for (const char* script :
         {"*/torch/distributed/run.py", "*/torch/distributed/launch.py", "*/accelerate/commands/*"})
        rules.push_back({.role = Role::launcher, .program = "python*", .argument = script});
    for (const char* title : {"ray::*", "VLLM::*", "sglang::*"})  // they rewrite argv too
        rules.push_back({.role = Role::trainer, .comm = title});
    for (const char* program : {"python*", "pypy*", "ipython*"})
        rules.push_back({.role = Role::trainer, .program = program});
    rules.push_back({.role = Role::trainer, .gpu_context = true});  // in whatever language it is written
    return rules;
}

}  // namespace

const std::vector<RoleRule>& builtin_role_rules() {
    static const std::vector<RoleRule> rules = make_rules();
    return rules;
}

}  // namespace memscope
