// `wield init --capabilities`: writes a summary of the tools by theme, for agent loops.

import { exitStatus } from '../../core/error.js';
import { sanitize, spellOut } from '../../core/text.js';
import { ASKS } from '../consent.js';
import { printError, printJson, report } from '../print.js';
import type { Verb } from '../verb.js';
import { toCallOptions } from './call.js';

export const capabilities: Verb = {
  usage: 'init --capabilities [--dry-run] [--json]',
  summary: 'Write a summary of what the tools can do, by theme, for the system prompt of an agent.',
  examples: ['wield init --capabilities', 'wield init --capabilities --dry-run'],
  flags: ASKS,
  async run(call) {
    const { terminal, flags, json, dryRun } = call;
    const toolbox = call.toolbox();
    const options = toCallOptions(call, toolbox, flags);
    const result = await toolbox.call('capabilities_refresh', { dry_run: dryRun }, options);
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
    const done = changed ? (dryRun ? 'would write' : 'wrote') : 'unchanged';
    return report(call, { dryRun, path, themes, changed, text }, `${sanitize(text)}\n  ${done}  ${spellOut(path)}\n`);
  },
};
