"""Parks two threads in stacks of every kind, then prints their stacks as the interpreter itself reports them: a line with
the kernel's id of each thread, then a line for each frame, innermost first; "parked" at the end."""
import os
import sys
import threading
import time

LONG_LINES = 2000


def park():
    time.sleep(600)


class Trainer:
    def validate(self):
        def inner():
            return [park() for _ in range(1)]
        return inner()

    @staticmethod
    def through_c(call):
        return list(map(lambda _: call(), [0]))  # frames of Python on both sides of one of C


def generator(call):
    yield 0
    yield call()


def drained(call):
    return sum(
        item
        for item in generator(call))


def größe(call):
    return call()


def обучение(call):
    return call()


def 𠀀(call):
    return call()


def made(source, file, name):
    scope = {}
    exec(compile(source, file, "exec"), scope)
    return scope[name]


def long_function():
    lines = ["def long_function(call):"] + ["    x = 1"] * LONG_LINES + ["    return call()"]
    return made("\n".join(lines), "long.py", "long_function")


def one_call(name, file):
    return made("\n\ndef %s(call):\n    return (1,\n        call())" % name, file, name)


def stack_of_main():
    big = long_function()
    long_name = one_call("n" * 300, "/a/" + "long/" * 100 + "name.py")
    anywhere = one_call("обратно", "/données/обучение/\U0001F40D.py")
    odd = one_call("odd", os.fsdecode(b"/tmp/no\xffutf8.py"))
    trainer = Trainer()
    drained(lambda: größe(lambda: обучение(lambda: 𠀀(lambda: big(lambda: long_name(
        lambda: anywhere(lambda: odd(lambda: trainer.through_c(trainer.validate)))))))))


def depth(n):
    return depth(n - 1) if n else park()


def report(threads):
    def frames(thread):
        frame = sys._current_frames().get(thread.ident)
        while frame:
            yield frame
            frame = frame.f_back

    while not all(any(f.f_code is park.__code__ for f in frames(thread)) for thread in threads):
        time.sleep(0.01)
    time.sleep(0.2)  # and inside the call
    for thread in threads:
        lines = [str(thread.native_id)]
        for frame in frames(thread):
            code = frame.f_code
            name = getattr(code, "co_qualname", code.co_name)
            lines.append("\t".join([name, code.co_filename, str(frame.f_lineno)]))
        os.write(1, "".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape"))
    os.write(1, b"parked\n")
    time.sleep(600)  # the end of a thread needs libgcc_s with the C library of Python 3.9, and it is not there


worker = threading.Thread(target=depth, args=(20,), daemon=True)
worker.start()
threading.Thread(target=report, args=([threading.main_thread(), worker],), daemon=True).start()
stack_of_main()
