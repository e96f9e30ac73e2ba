// `wield capabilities`: what the tools here can do, by theme, written down for the beginning of a loop.

import { exitStatus } from '../../core/error.js';
import { sanitize } from '../../core/text.js';
import type { Caller } from '../../core/toolbox.js';
import { createApprove } from '../approve.js';
import { printError, printJson } from '../print.js';
import type { Verb } from '../verb.js';

const PERSON: Caller = { kind: 'person', door: 'cli' };

export const capabilities: Verb = {
  name: 'capabilities',
  usage: 'capabilities [--dry-run] [--json]',
  summary: 'Write down by theme what the tools can do, for agents to be told at the beginning.',
  examples: ['wield capabilities', 'wield capabilities --dry-run'],
  flags: { 'dry-run': { kind: 'switch', description: 'Show it, and write nothing' } },
  positionals: 0,
  async run({ terminal, flags, json, signal, toolbox: open }) {
    const {
      machine: { insideCall },
      call,
    } = open();
    const approve = createApprove({ terminal, yes: false, insideCall });
    const dryRun = flags.has('dry-run');
    const result = await call(
      'capabilities_refresh',
      { dry_run: dryRun },
      {
        caller: insideCall ? { ...PERSON, name: 'tool' } : PERSON,
        signal,
        ...(approve === undefined ? {} : { approve }),
      },
    );
    if (result.error !== undefined) {
      if (json) printJson(terminal, { ok: false, error: result.error });
      else printError(terminal, result.error);
      return exitStatus(result.error.code);
    }
    const { path, themes, changed, text } = result.structured as {
      path: string;
      themes: number;
      changed: boolean;
      text: string;
    };
    if (json) printJson(terminal, { ok: true, dryRun, path, themes, changed, text });
    else {
      const done = changed ? (dryRun ? 'would write' : 'wrote') : 'unchanged';
      terminal.out(`${sanitize(text)}\n  ${done}  ${path}\n`);
    }
    return 0;
  },
};
