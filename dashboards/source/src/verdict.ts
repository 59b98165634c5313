// Encodes a verdict as one number, so that one line of a timeline or one cell of a table can show it.
import { words } from './panels.js';

export const CODES = words([
  ['0', 'too early to tell', 'text'], ['1', 'warming up', 'blue'], ['2', 'stable', 'green'], ['3', 'spiky', 'yellow'], ['4', 'leaking', 'red'],
]);

/** The same expression as target:memscope_verdict:code, grouped by the labels in `by`. */
export function verdictCode(selector: string, by: string): string {
  const word = (name: string, code: number) => `memscope_verdict{${selector},verdict="${name}"} * ${code}`;
  return `max by (${by}) (${[word('insufficient', 0), word('warming_up', 1), word('stable', 2), word('spiky', 3), word('leaking', 4)].join(' or ')})`;
}
