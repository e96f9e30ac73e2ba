// `wield check`: what is wrong with a skill or a workspace, for its author, before anyone uses it.

import { resolve } from 'node:path';
import { type CheckFinding, checkDirectory } from '../../check.js';
import { count, sanitize } from '../../core/text.js';
import { printJson } from '../print.js';
import type { Terminal } from '../terminal.js';
import type { Verb } from '../verb.js';

export const check: Verb = {
  name: 'check',
  usage: 'check [DIR] [--json]',
  summary: 'Check a skill, its tools.json or a workspace for its author. Exits 1 where there is an error.',
  examples: ['wield check .agents/skills/notes', 'wield check'],
  flags: {},
  positionals: 1,
  completes: 'files',
  async run({ terminal, positionals, json, cwd, toolbox }) {
    const directory = resolve(cwd, positionals[0] ?? '.');
    const { world, find, survey } = toolbox();
    const isThere = async (ref: string): Promise<boolean> =>
      (await survey()).skills.some(({ name }) => name === ref) ||
      (await find(ref).catch(() => undefined)) !== undefined;
    const { checked, findings } = await checkDirectory(directory, { world, isThere });
    const errors = findings.filter((finding) => finding.level === 'error').length;
    const warnings = findings.length - errors;
    if (json) printJson(terminal, { ok: true, checked, errors, warnings, findings });
    else {
      printFindings(terminal, findings);
      const sum = `${count(errors, 'error')}, ${count(warnings, 'warning')}`;
      terminal.out(
        `  ${findings.length === 0 ? `${checked === 1 ? '1 entry' : `${checked} entries`} checked, nothing to say` : sum}\n`,
      );
    }
    return errors > 0 ? 1 : 0;
  },
};

function printFindings(terminal: Terminal, findings: readonly CheckFinding[]): void {
  const width = Math.max(0, ...findings.map((finding) => finding.pointer.length));
  let file: string | undefined;
  for (const { path, level, pointer, message, hint } of findings) {
    if (path !== file) terminal.out(`  ${terminal.paint('bold', sanitize(path))}\n`);
    file = path;
    const place = width === 0 ? '' : `${sanitize(pointer).padEnd(width)}  `;
    terminal.out(
      `    ${terminal.paint(level === 'error' ? 'red' : 'yellow', level.padEnd(7))}  ${place}${sanitize(message)}\n`,
    );
    terminal.out(`             ${terminal.paint('cyan', 'hint')}  ${sanitize(hint)}\n`);
  }
}
