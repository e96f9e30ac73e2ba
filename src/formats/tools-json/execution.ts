// Parses one execution of a tools.json: the command, its conditions and its output hints.

import type { Execution } from '../../core/command.js';
import { type Report, readShape, type Shape } from '../../core/strict-object.js';
import { isProgramName } from './generation.js';
import type { ReadAt } from './guards.js';
import { POST_PROCESS, readMapping } from './mapping.js';
import { optionalString, readResolver } from './resolver.js';
import { readHint, readSideRead } from './side-read.js';

const EXECUTION: Shape = {
  tool: '!non-empty string',
  binary: '!non-empty string',
  subcommand: '!string',
  args: 'array',
  endOfOptions: 'boolean',
  paramCondition: 'object',
  condition: 'object',
  successExitCodes: 'integers',
  maxOutputLines: 'integer',
  truncationHint: 'string',
  hintConditions: 'array',
  postProcess: 'object',
  binaryWrapper: 'strings',
  sideRead: 'object',
};
export function readExecution(
  value: unknown,
  at: ReadAt,
): { readonly tool: string; readonly execution: Execution } | undefined {
  const { pointer, report } = at;
  const entry = readShape(value, pointer, EXECUTION, report);
  if (entry === undefined) return undefined;
  const args = ((entry.args as unknown[] | undefined) ?? []).flatMap(
    (mapping, index) => readMapping(mapping, { ...at, pointer: `${pointer}/args/${index}` }) ?? [],
  );
  if (args.filter((mapping) => mapping.kind === 'stdin').length > 1)
    report(`${pointer}/args`, 'two parameters go to stdin', 'keep one');
  return {
    tool: entry.tool as string,
    execution: {
      binary: entry.binary as string,
      subcommand: entry.subcommand as string,
      args,
      endOfOptions: entry.endOfOptions === true,
      when: readWhen(entry.paramCondition, `${pointer}/paramCondition`, report),
      binGroup: readBinGroup(entry.condition, `${pointer}/condition`, report),
      successExitCodes: (entry.successExitCodes as number[] | undefined) ?? [],
      maxOutputLines: entry.maxOutputLines as number | undefined,
      truncationHint: optionalString(entry.truncationHint),
      hints: ((entry.hintConditions as unknown[] | undefined) ?? []).flatMap(
        (hint, index) => readHint(hint, `${pointer}/hintConditions/${index}`, report) ?? [],
      ),
      postProcess: readResolver(entry.postProcess, `${pointer}/postProcess`, POST_PROCESS, report),
      wrapper: readWrapper(entry.binaryWrapper, `${pointer}/binaryWrapper`, report),
      sideRead: readSideRead(entry.sideRead, `${pointer}/sideRead`, report),
    },
  };
}

function readWhen(value: unknown, pointer: string, report: Report): Execution['when'] {
  if (value === undefined) return undefined;
  const entry = readShape(value, pointer, { present: 'strings', absent: 'strings' }, report);
  return (
    entry && {
      present: (entry.present as string[] | undefined) ?? [],
      absent: (entry.absent as string[] | undefined) ?? [],
    }
  );
}

function readBinGroup(value: unknown, pointer: string, report: Report): number | undefined {
  if (value === undefined) return undefined;
  return readShape(value, pointer, { binGroup: '!integer' }, report)?.binGroup as number | undefined;
}

// TJS-27: a program of the PATH, never a path into the skill or the checkout.
function readWrapper(value: unknown, pointer: string, report: Report): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const words = value as readonly string[];
  if (!isProgramName(words[0] ?? ''))
    report(`${pointer}/0`, 'is not a program name', 'write the name as found on PATH, without a directory');
  if (words.some((word) => word === '' || word.includes('\0')))
    report(pointer, 'an argument is empty or contains NUL', 'remove it');
  return words;
}
