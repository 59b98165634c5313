"""Boots one kernel without KVM. Returns the console text, and how the boot ended."""
import os
import subprocess
import time

# MiB. With 128 the kernel has too little free memory, and an OOM kill in a cgroup does not happen. With 384 the tests of
# a debug build, which have two collectors at a time, may be killed themselves on x86_64.
MEMORY_MIB = 512
COMMON = ["-m", str(MEMORY_MIB), "-smp", "2", "-nographic", "-nodefaults", "-serial", "stdio", "-no-reboot", "-net", "none"]
# One thread for all CPUs of a guest, because the memory order of x86 is too strict for several threads on an arm64 host.
# Two guests in parallel leave no CPU idle anyway.
ONE_THREAD = ["-accel", "tcg,thread=single"]
QEMU = {
    "arm64": ["qemu-system-aarch64", "-machine", "virt,gic-version=3", "-cpu", "neoverse-n1", *ONE_THREAD],
    "amd64": ["qemu-system-x86_64", "-machine", "q35", "-cpu", "Nehalem", *ONE_THREAD],
}
ARGUMENTS = {
    "arm64": "console=ttyAMA0 kpti=off",
    "amd64": "console=ttyS0 nopti tsc=reliable no_timer_check",
}
# Expensive parts of the boot that the tests do not need: entropy, certificates, keys, self-tests of ciphers.
SPARED = ("initcall_blacklist=jent_mod_init,load_system_certificate_list,init_encrypted,sed_opal_init cryptomgr.notests=1 "
          "audit=0 selinux=0 apparmor=0")

# On a busy host a guest with low priority may not run for half a minute, which its watchdog takes for a lockup. A CPU that
# is stuck for two minutes is still reported.
PATIENT = "watchdog_thresh=60"


def _wait(process, seconds):
    """CPU seconds of a process that has ended, or None if it had to be killed."""
    deadline = time.monotonic() + seconds
    try:
        while time.monotonic() < deadline:
            pid, _, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                process.returncode = 0
                return usage.ru_utime + usage.ru_stime
            time.sleep(0.2)
        return None
    finally:  # also after an interrupt
        if process.returncode is None:
            process.kill()
            process.wait()


def boot(machine, kernel, initramfs, log, seconds, inject=None):
    """(console text, None or why it was stopped, CPU seconds). The console goes to the file `log`, so that it can be read
    meanwhile. The exit status of qemu is not used, because it is also 0 after a panic."""
    # ramfs, because on tmpfs the pages of programs would count as shared memory.
    arguments = (f"{ARGUMENTS[machine.arch]} panic=-1 rdinit=/init rootfstype=ramfs loglevel=4 mitigations=off nokaslr "
                 f"init_on_alloc=0 {SPARED} {PATIENT} memscope.cgroup={machine.cgroup} memscope.kind={machine.kind}")
    if inject:
        arguments += f" memscope.inject={inject}"
    command = [*QEMU[machine.arch], *COMMON, "-kernel", kernel, "-initrd", initramfs, "-append", arguments]
    with open(log, "wb") as out:
        cpu = _wait(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT), seconds)
    stopped = None if cpu is not None else f"not done after {seconds} s"
    return log.read_text("utf-8", "replace").replace("\r", ""), stopped, cpu
