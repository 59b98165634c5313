#include "analysis/deaths/raise_limit.h"

#include <gtest/gtest.h>

namespace memscope {
namespace raise_limit_test {

const std::string kId(64, 'a');

TEST(RaiseLimit, NamesTheFileOfTheCgroupVersion) {
    EXPECT_EQ(limit_setting({.cgroup_version = 2, .cgroup = "train"}), "memory.max of train");
    EXPECT_EQ(limit_setting({.cgroup_version = 1, .cgroup = "train"}), "memory.limit_in_bytes of train");
    EXPECT_EQ(limit_setting({.cgroup_version = 1}), "memory.limit_in_bytes of its cgroup");
}

TEST(RaiseLimit, NamesTheOptionOfTheProgramThatMadeTheCgroup) {
    for (const char* job : {"slurm/uid_1000/job_42/step_0", "system.slice/slurmstepd.scope/job_42/step_0/user/task_0",
                            "slurm_node7/uid_0/job_1"})
        EXPECT_EQ(limit_setting({.cgroup = job}), "--mem of sbatch or srun") << job;
    for (const std::string& pod :
         {"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/cri-containerd-" + kId + ".scope",
          "kubepods/burstable/pod1/" + kId, std::string("kubelet/kubepods/pod1/c")})
        EXPECT_EQ(limit_setting({.cgroup = pod}), "resources.limits.memory of the container in the pod") << pod;
    for (const std::string& container : {"docker/" + kId, "system.slice/docker-" + kId + ".scope"})
        EXPECT_EQ(limit_setting({.cgroup_version = 1, .cgroup = container}),
                  "--memory of docker run, or docker update --memory");
    EXPECT_EQ(limit_setting({.cgroup = "machine.slice/libpod-" + kId + ".scope"}),
              "--memory of podman run, or podman update --memory");
    EXPECT_EQ(limit_setting({.cgroup = "system.slice/train.service"}), "MemoryMax= of train.service");
}

TEST(RaiseLimit, SimilarNamesAreNotRecognized) {
    EXPECT_EQ(maker_of("docker/short"), CgroupMaker::unknown);
    EXPECT_EQ(maker_of("my-slurm-tests"), CgroupMaker::unknown);
    EXPECT_EQ(maker_of("docker-tests.scope"), CgroupMaker::systemd);
    EXPECT_EQ(maker_of(".scope"), CgroupMaker::unknown);
    EXPECT_EQ(maker_of(""), CgroupMaker::unknown);
}

TEST(RaiseLimit, ACommandStartedByMemscopeHasTheOptionOfMemscope) {
    EXPECT_EQ(limit_setting({.launched = true}), "--memory-max of memscope");
}

TEST(RaiseLimit, SharedMemoryIsEnlargedWhereItIsMounted) {
    EXPECT_EQ(shm_setting({.cgroup = "docker/" + kId}), "--shm-size of docker run");
    EXPECT_EQ(shm_setting({.cgroup = "kubepods.slice/a"}),
              "mount an emptyDir with medium Memory and a larger sizeLimit there");
    EXPECT_EQ(shm_setting({.cgroup = "train"}), "mount -o remount,size=SIZE /dev/shm; in a container --shm-size");
}

TEST(RaiseLimit, TheFactsComeFromTheTarget) {
    TargetSnapshot target;
    target.info = {.name = "slurm/uid_0/job_7", .cgroup_version = 1};
    EXPECT_EQ(limit_setting(limit_facts(target)), "--mem of sbatch or srun");
    target.info = {.name = "pid:train.py", .kind = "pid"};
    target.memory.measured_at = "user.slice/run-1.scope";
    EXPECT_EQ(limit_setting(limit_facts(target)), "MemoryMax= of run-1.scope");
    target.memory.measured_at = "/";
    EXPECT_EQ(limit_setting(limit_facts(target)), "memory.max of its cgroup");
    target.info = {.name = "cmd:train.py", .kind = "command"};
    EXPECT_EQ(limit_setting(limit_facts(target)), "--memory-max of memscope");
}

}  // namespace raise_limit_test
}  // namespace memscope
