// `wield audit --verify`: verifies that no line of the audit log was changed, and prints or compares checkpoints.

import { CHECKPOINT, type Checkpoint, createCheckpoint, findChangesSince } from '../../audit/checkpoint.js';
import { type AuditProblem, type Verification, verifyLog } from '../../audit/verify.js';
import { orNothing, ToolError } from '../../core/error.js';
import { readShape } from '../../core/shape.js';
import { count, quoteOutside } from '../../core/text.js';
import { readTextFile } from '../../files/read.js';
import { type Io, resolvePath } from '../io.js';
import { printError, printJson } from '../print.js';
import type { Terminal } from '../terminal.js';
import { option, toggle, usageError, type Verb } from '../verb.js';

const INTEGRITY = 7;
const SHOWN = 5;

export const auditVerify: Verb = {
  usage: 'audit --verify [--checkpoint | --against FILE] [--json]',
  summary: 'Verify that no line of the audit log was changed, dropped, moved or inserted. Exits with 7 if one was.',
  examples: ['wield audit --verify --checkpoint > checkpoint.json', 'wield audit --verify --against checkpoint.json'],
  flags: {
    checkpoint: toggle('Print what the log contains now, to be kept or signed elsewhere'),
    against: option('FILE', 'Also verify that the log still contains what it did at a checkpoint'),
  },
  completes: 'files',
  async run({ flags, terminal, json, toolbox }) {
    const { directory } = toolbox().state.audit;
    const against = flags.get('against');
    const earlier = against === undefined ? undefined : readCheckpoint(terminal.io, String(against));
    const { problems: own, ...found } = verifyLog(directory);
    const problems = [...own, ...(earlier === undefined ? [] : findChangesSince(earlier, directory, found.pruned))];
    if (problems.length > 0) {
      const error = new ToolError('integrity', `the audit log is not as it was written: ${describe(problems)}`, {
        hint: `look at the first place in ${directory}; the lines before it are as they were written`,
      });
      if (json) printJson(terminal, { ok: false, error: error.toJSON(), ...found, problems });
      else printError(terminal, error.toJSON());
      return INTEGRITY;
    }
    if (flags.has('checkpoint')) terminal.out(`${JSON.stringify(createCheckpoint(directory, terminal.io.now()))}\n`);
    else if (json) printJson(terminal, { ok: true, ...found, problems });
    else printFound(terminal, found);
    return 0;
  },
};

function describe(problems: readonly AuditProblem[]): string {
  const shown = problems
    .slice(0, SHOWN)
    .map(({ file, line, message }) => `${file}${line === null ? '' : `:${line}`} ${message}`);
  return `${shown.join('; ')}${problems.length > SHOWN ? `; and ${problems.length - SHOWN} more` : ''}`;
}

function printFound(terminal: Terminal, { files, lines, partial, open }: Omit<Verification, 'problems'>): void {
  if (files === 0) {
    terminal.out(
      '  no log yet; only a checkpoint shows that a whole log was removed: wield audit --verify --against FILE\n',
    );
    return;
  }
  terminal.out(`  ${count(lines, 'line')} in ${count(files, 'file')}, all as they were written\n`);
  const gone = open.filter(({ state }) => state === 'gone').length;
  if (gone > 0)
    terminal.out(
      `  ${count(gone, 'writer')} ended without closing the log, by a kill for example: lines of its last half second may be missing\n`,
    );
  if (partial > 0) terminal.out(`  ${count(partial, 'line')} left unfinished by a crash\n`);
}

function readCheckpoint(io: Io, file: string): Checkpoint {
  const name = quoteOutside(file, 200);
  const text = readTextFile(resolvePath(io, file));
  if (text === undefined)
    throw usageError(`${name} does not exist`, 'create one: wield audit --verify --checkpoint > checkpoint.json');
  const { value, faults } = readShape(
    CHECKPOINT,
    orNothing(() => JSON.parse(text)),
  );
  if (value === undefined || faults.length > 0)
    throw new ToolError('invalid_input', `${name} is not a checkpoint of the audit log`, {
      hint: 'create one: wield audit --verify --checkpoint > checkpoint.json',
    });
  return value;
}
