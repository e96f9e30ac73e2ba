// `wield init --index`: writes or removes the index of a skill library.

import { resolve } from 'node:path';
import { systemReason, ToolError } from '../../core/error.js';
import { count, sanitize } from '../../core/text.js';
import { statOrNothing } from '../../files/read.js';
import { ASKS } from '../consent.js';
import { report } from '../print.js';
import { toggle, type Verb } from '../verb.js';

export const writeIndex: Verb = {
  usage: 'init --index [DIR] [--clean] [--dry-run]',
  summary: 'Write the index of a skill library, which is published with the skills.',
  examples: ['wield init --index skills', 'wield init --index skills --clean'],
  flags: { clean: toggle('Remove the index'), ...ASKS },
  positionals: 1,
  async run(call) {
    const { positionals, flags, cwd, toolbox, dryRun } = call;
    const directory = resolve(cwd, positionals[0] ?? '.');
    if (!statOrNothing(directory)?.isDirectory()) {
      throw new ToolError('not_found', `directory not found: ${directory}`, {
        hint: 'pass a directory of skills',
      });
    }
    if (dryRun) {
      const file = toolbox().state.shippedIndex.fileOf(directory);
      const does = !flags.has('clean') || statOrNothing(file) !== undefined;
      const what = flags.has('clean') ? 'remove' : 'write';
      const text = does ? `  would ${what}  ${sanitize(file)}\n` : '  nothing to remove\n';
      return report(call, { dryRun: true, directory, file }, text);
    }
    if (flags.has('clean')) {
      const { file, removed } = inDirectory(directory, () => toolbox().state.shippedIndex.remove(directory));
      const text = removed ? `  removed  ${sanitize(file)}\n` : '  nothing to remove\n';
      return report(call, { directory, file, removed }, text);
    }
    const { file, entries, tools } = inDirectory(directory, () => toolbox().state.shippedIndex.write(directory));
    const what = `${entries === 1 ? '1 entry' : `${entries} entries`}, ${count(tools, 'tool')}`;
    return report(call, { directory, file, entries, tools }, `  written  ${sanitize(file)}  ${what}\n`);
  },
};

function inDirectory<T>(directory: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new ToolError('io', `cannot write in ${directory}: ${systemReason(error)}`, {
      hint: 'check the permissions of the directory',
      cause: error,
    });
  }
}
