// `wield check`: what is wrong with a skill or a workspace, for its author, before anyone uses it.

import { resolve } from 'node:path';
import { type CheckFinding, checkDirectory } from '../../check.js';
import { isToolError } from '../../core/error.js';
import { count, sanitize } from '../../core/text.js';
import type { Problem } from '../../core/tool.js';
import type { NodeToolbox } from '../../node.js';
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
    const { checked, findings } = await checkDirectory(directory, {
      world,
      isThere,
      problemsOf: (file) => findProblems(toolbox(), file),
    });
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

// A module is loaded here as for a listing: where it is trusted, and else not at all.
async function findProblems(toolbox: NodeToolbox, file: string): Promise<readonly Problem[]> {
  const { problems } = await toolbox.survey();
  const known = problems.filter(({ path }) => path === file);
  if (known.length > 0) return known;
  try {
    const { action } = await toolbox.find(file);
    if (action.kind !== 'module' || action.export !== null) return [];
    const message = 'was not loaded, since this workspace is not trusted, so only its name was checked';
    return [{ severity: 'warning', path: file, message, hint: 'look at it, then run: wield trust' }];
  } catch (error) {
    // Several tools in one file are as good as one.
    if (!isToolError(error) || error.code === 'ambiguous') return [];
    const { message, hint = 'mend the file' } = error;
    return [{ severity: 'error', path: file, message, hint }];
  }
}

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
