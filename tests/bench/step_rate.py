#!/usr/bin/env python3
"""What a heap census costs the process that is read: the steps per second of a training with a census in each window of 30 s,
against those of a window without one. The windows alternate, and each pair begins with the other kind. Needs root and PyTorch,
and a CPU for the job and one for the helper process. MEMSCOPE and PYTHON name the programs.

step_rate.py [PAIRS [WINDOW]]: 6 pairs of windows of 30 s if they are not given, which takes six minutes
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading

MEMSCOPE = os.environ['MEMSCOPE']
PYTHON = os.environ.get('PYTHON', '/usr/bin/python3')
JOB = pathlib.Path(__file__).resolve().parents[1] / 'e2e/jobs/kept_tensors.py'
KEPT = 500  # steps whose tensors and graphs the job keeps, so that a census has something to read


def census(pid, costs):
    done = subprocess.run([MEMSCOPE, 'heap', '--pid', str(pid), '--format', 'json', '--top', '1'], capture_output=True, text=True)
    costs.append(json.loads(done.stdout)['processes'][0] if done.returncode == 0 else sys.exit(done.stderr))


def main():
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    window = float(sys.argv[2]) if len(sys.argv) > 2 else 30
    alone = {**os.environ, 'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1'}  # the other CPU is for the helper process
    with subprocess.Popen([PYTHON, str(JOB)], env=alone, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as job:
        job.stdout.readline()

        def ask(line):
            job.stdin.write(line + '\n')
            job.stdin.flush()
            return json.loads(job.stdout.readline())

        def rate(costs):
            timer = threading.Timer(window / 2, census, (job.pid, costs)) if costs is not None else None
            if timer:
                timer.start()
            steps = ask(f'rate {window}')['steps_per_second']
            if timer:
                timer.join()
            return steps

        ask(f'steps {KEPT}')
        rate(None)
        ratios, costs = [], []
        for pair in range(pairs):
            if pair % 2 == 0:
                without, beside = rate(None), rate(costs)
            else:
                beside, without = rate(costs), rate(None)
            ratios.append(beside / without)
            print(f'pair {pair + 1}: {without:8.1f} steps per second without a census, {beside:8.1f} with one: {ratios[-1]:.4f}', flush=True)
        job.kill()
    print(f'median of {pairs} pairs: {statistics.median(ratios):.4f} of the step rate with a census in {window:.0f} s '
          f'({statistics.median(c["taken_seconds"] for c in costs):.2f} s of CPU time, {costs[-1]["objects"]:,} objects, '
          f'{costs[-1]["anon_bytes"] / 2**20:.0f} MiB)')


if __name__ == '__main__':
    main()
