// `wield doctor`: checks the setup and suggests fixes.

import { isToolError, type ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { listUnsafeState } from '../../files/state.js';
import type { Repair } from '../../install/repair.js';
import type { NodeToolbox } from '../../node.js';
import type { HealthCheck } from '../../ui/api.js';
import { ASKS, confirm, RUN_HOOKS } from '../consent.js';
import { printJson } from '../print.js';
import { hang } from '../table.js';
import type { Terminal } from '../terminal.js';
import { toggle, type Verb, type VerbCall } from '../verb.js';
import { runDoctor } from './doctor/diagnose.js';

const COLOURS = { ok: 'green', absent: 'dim', warning: 'yellow', problem: 'red' } as const;

export const doctor: Verb = {
  usage: 'doctor [--fix [--dry-run] [--yes]] [--json]\n  wield doctor --clean [--dry-run]',
  summary: 'Check the setup and suggest fixes. Exits with 1 if there is a problem.',
  examples: ['wield doctor', 'wield doctor --fix'],
  flags: {
    fix: toggle('Restore links, store paths and missing files of installed items'),
    'run-hooks': RUN_HOOKS,
    ...ASKS,
    clean: toggle('Remove caches and expired data'),
  },
  async run(call) {
    const { terminal, flags, json, reserved, toolbox: open, dryRun } = call;
    // Nothing else can be checked before the state can be used.
    const toolbox = openOrFault(open);
    const unsafe = isToolError(toolbox) ? [toolbox] : listUnsafeState(toolbox.machine.wieldHome);
    if (isToolError(toolbox) || unsafe.length > 0) return printUnsafe(unsafe, terminal, json);
    const repairs = flags.has('fix') ? await repair(call) : [];
    if (repairs === undefined) return 0;
    const { checks, problems, warnings } = await runDoctor(toolbox, reserved);
    if (json) {
      const passed = checks.filter(({ level }) => level === 'ok' || level === 'absent');
      printJson(terminal, { ok: true, problems, warnings, checks: passed, dryRun, fixed: repairs });
    } else {
      if (!dryRun) printRepairs(terminal, repairs, 'fixed');
      if (flags.has('fix') && repairs.length === 0)
        terminal.out(
          `  ${terminal.paint('green', 'ok'.padEnd(8))} nothing to fix: no link or file of an installed item is missing\n`,
        );
      const width = Math.max(...checks.map((check) => check.about.length));
      const line = ({ level, about, message, hint }: HealthCheck): string => {
        const label = terminal.paint(COLOURS[level], (level === 'absent' ? '--' : level).padEnd(8));
        const text = quoteOutside(`${message}${hint ? `; ${hint}` : ''}`, 2000);
        return `  ${label} ${quoteOutside(about, 2000).padEnd(width)}  ${hang(terminal, text, 13 + width)}\n`;
      };
      terminal.out(checks.map(line).join(''));
    }
    return problems.length > 0 ? 1 : 0;
  },
};

// Loaded only if something is to be fixed. Undefined if the user declined.
async function repair(call: VerbCall): Promise<readonly Repair[] | undefined> {
  const { previewRepairs, repairInstalled } = await import('../../install/repair.js');
  const { withInstalling } = await import('../installing.js');
  return withInstalling(call, async (environment) => {
    const planned = previewRepairs(environment);
    if (!call.json && (call.dryRun || !call.flags.has('yes')))
      printRepairs(call.terminal, planned, call.dryRun ? 'would' : 'fix');
    if (call.dryRun || planned.length === 0) return planned;
    const names = planned.map(({ kind, effective }) => `${kind} ${quoteOutside(effective, 200)}`).join(', ');
    return (await confirm(call, 'Fix this?', names)) ? repairInstalled(environment) : undefined;
  });
}

const TO_DO = { installed: 'install again', linked: 'link again' };
const DONE = { installed: 'installed again', linked: 'linked again' };

function printRepairs(terminal: Terminal, repairs: readonly Repair[], label: 'fixed' | 'fix' | 'would'): void {
  for (const { kind, effective, done, links, aside } of repairs) {
    const what = (label === 'fixed' ? DONE : TO_DO)[done];
    terminal.out(`  ${terminal.paint('green', label.padEnd(8))} ${kind} ${quoteOutside(effective, 200)}  ${what}\n`);
    for (const link of links) terminal.out(`           ${quoteOutside(link, 2000)}\n`);
    for (const { path, to } of aside)
      terminal.out(
        `           ${label === 'fixed' ? 'moved' : 'move'} ${quoteOutside(path, 2000)} to ${quoteOutside(to, 2000)}\n`,
      );
  }
}

function openOrFault(open: () => NodeToolbox): NodeToolbox | ToolError {
  try {
    return open();
  } catch (error) {
    if (isToolError(error) && error.data?.path !== undefined) return error;
    throw error;
  }
}

function printUnsafe(unsafe: readonly ToolError[], terminal: Terminal, json: boolean): number {
  const problems = unsafe.map(({ message, hint, data }) => ({
    severity: 'error',
    path: String(data?.path),
    message,
    hint,
  }));
  if (json) printJson(terminal, { ok: true, problems, warnings: [], checks: [], fixed: [] });
  const label = terminal.paint('red', 'problem'.padEnd(8));
  const lines = problems.map(({ message, hint }) => `  ${label} ${quoteOutside(`${message}; ${hint}`, 2000)}\n`);
  if (!json) terminal.out(lines.join(''));
  return 1;
}
