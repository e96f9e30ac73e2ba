// Checks the parts of a tools.json against each other: names, allowlist, parameters and conditions (TJS-4).

import type { Allowlist, Execution, Resolver } from '../../core/command.js';
import { isRecord } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import type { Path } from '../../core/shape.js';
import { didYouMean, quoteOutside } from '../../core/text.js';

export interface Parts {
  readonly tools: readonly { readonly name: string; readonly parameters: JsonSchema }[];
  readonly allowlist: Allowlist;
  readonly execution: readonly { readonly tool: string; readonly execution: Execution }[];
}

type Report = (path: Path, message: string, hint: string) => void;

export interface CrossCheckOptions {
  readonly report: Report;
  /** Reports what an execution can be used with. */
  readonly warn: Report;
}

export function crossCheck({ tools, allowlist, execution: all }: Parts, { report, warn }: CrossCheckOptions): void {
  for (const [index, { tool, execution }] of all.entries()) {
    const path = ['execution', index];
    const declared = tools.find((candidate) => candidate.name === tool);
    if (declared === undefined) {
      const names = tools.map((candidate) => candidate.name);
      report([...path, 'tool'], `"${shorten(tool)}" is not declared`, suggest(tool, names));
      continue;
    }
    checkCommands(execution, path, allowlist, report);
    checkParameters(declared.parameters, execution, path, warn);
  }
  for (const [index, { name }] of tools.entries()) {
    if (!all.some((entry) => entry.tool === name)) {
      report(
        ['tools', index],
        `"${name}" has no execution`,
        `add one: { "tool": "${name}", "binary": …, "subcommand": … }`,
      );
    }
  }
  checkAlternatives(all, report);
}

function checkCommands(execution: Execution, path: Path, allowlist: Allowlist, report: Report): void {
  const check = (binary: string, subcommand: string, at: Path, key = 'subcommand'): void => {
    const listed = Object.hasOwn(allowlist, binary) ? allowlist[binary] : undefined;
    if (listed === undefined) {
      report(
        [...at, 'binary'],
        `"${shorten(binary)}" is not in the allowlist`,
        suggest(binary, Object.keys(allowlist)),
      );
    } else if (!listed.includes(subcommand)) {
      report(
        [...at, key],
        `"${shorten(subcommand)}" is not in allowlist["${shorten(binary)}"]`,
        suggest(subcommand, listed),
      );
    }
  };
  // TJS-17: checked even if there is a script, since the binary runs when scripts are disabled.
  const checkResolver = (resolver: Resolver | undefined, at: Path): void => {
    if (resolver?.binary !== undefined) check(resolver.binary, resolver.subcommand, at);
  };
  check(execution.binary, execution.subcommand, path);
  for (const [index, { subcommandOverride, resolve, deny }] of execution.args.entries()) {
    const at = [...path, 'args', index];
    if (subcommandOverride !== undefined) check(execution.binary, subcommandOverride, at, 'subcommandOverride');
    checkResolver(resolve, [...at, 'resolveCommand']);
    checkResolver(deny?.resolve, [...at, 'denyResolveCommand']);
  }
  checkResolver(execution.postProcess, [...path, 'postProcess']);
}

function checkParameters(
  parameters: JsonSchema,
  { args, when, hints, sideRead }: Execution,
  path: Path,
  warn: Report,
): void {
  const properties = isRecord(parameters.properties) ? Object.keys(parameters.properties) : [];
  const check = (name: string, at: Path): void => {
    if (properties.includes(name)) return;
    // TJS-4: callers cannot pass it, so it is always missing.
    warn(at, `"${shorten(name)}" is not a parameter of the tool`, suggest(name, properties));
  };
  args.forEach((mapping, index) => {
    if (mapping.kind !== 'literal') check(mapping.param, [...path, 'args', index, 'param']);
  });
  for (const part of ['present', 'absent'] as const) {
    when?.[part].forEach((name, index) => {
      check(name, [...path, 'paramCondition', part, index]);
    });
  }
  if (sideRead !== undefined && !args.some(({ param }) => param === sideRead.param))
    warn([...path, 'sideRead', 'pathParam'], `"${shorten(sideRead.param)}" is not in args`, 'map it');
  hints.forEach(({ whenArg }, index) => {
    for (const name of Object.keys(whenArg)) check(name, [...path, 'hintConditions', index, 'whenArg', name]);
  });
}

// Several executions of one tool must have different conditions; one may have none.
function checkAlternatives(all: Parts['execution'], report: Report): void {
  const seen = new Set<string>();
  for (const [index, { tool, execution }] of all.entries()) {
    const key = JSON.stringify([tool, execution.when ?? null, execution.binGroup ?? null]);
    if (seen.has(key)) {
      report(
        ['execution', index],
        `a second execution of "${shorten(tool)}" with the same condition`,
        'give each a different paramCondition: { "present": [...], "absent": [...] }',
      );
    }
    seen.add(key);
  }
}

function shorten(name: string): string {
  return quoteOutside(name, 60);
}

function suggest(name: string, candidates: readonly string[]): string {
  const known =
    candidates.length === 0 ? 'nothing is declared' : `known: ${candidates.slice(0, 10).map(shorten).join(', ')}`;
  return didYouMean(name, candidates, known, (close) => JSON.stringify(shorten(close)));
}
