"""Parses the console output of a guest: its sections and its exit line."""
import re
from dataclasses import dataclass, field


@dataclass
class GuestOutput:
    sections: dict = field(default_factory=dict)  # name -> lines
    exit: int | None = None                       # status of the exit line; None: there is no exit line
    panic: str | None = None

    def lines(self, section):
        return self.sections.get(section, [])

    def status(self, section):
        """The number of a line "status N" in it, or None."""
        found = [line for line in self.lines(section) if re.fullmatch(r"status \d+", line)]
        return int(found[-1].split()[1]) if found else None

    def metrics(self, section):
        """{name: {labels: value}} of Prometheus text."""
        found = {}
        for line in self.lines(section):
            if match := re.fullmatch(r'(\w+)(?:\{(.*)\})? ([-+.\deE]+)', line):
                labels = tuple(sorted(re.findall(r'(\w+)="([^"]*)"', match[2] or "")))
                found.setdefault(match[1], {})[labels] = float(match[3])
        return found


def parse(text):
    output = GuestOutput()
    lines = None
    for line in text.splitlines():
        if match := re.search(r"Kernel panic - .*", line):
            output.panic = match[0]
        if match := re.fullmatch(r"::section (\S+)( [\d.]+)?", line):
            lines = output.sections.setdefault(match[1], [])
        elif match := re.fullmatch(r"::exit (\d+)", line):
            output.exit, lines = int(match[1]), None
        elif lines is not None and line:
            lines.append(line)
    return output
