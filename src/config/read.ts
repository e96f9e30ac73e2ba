// Reads one file of the configuration: values with the line that each stands on, and what is wrong with it.

import { isAbsolute, normalize } from 'node:path';
import type { Problem } from '../core/problem.js';
import type { Rule } from '../core/rule.js';
import { filterPaths, type PathEntry } from '../core/search-path.js';
import { nearest, quoteOutside } from '../core/text.js';
import type { ServerEntry } from '../core/upstream.js';
import type { FileText } from '../files/stat-cache.js';
import { lineOf, parseToml } from '../files/toml.js';
import { canonicalPath, KEYS, keyName, leaves } from './keys.js';
import { readRules } from './rules.js';
import { readServerTable } from './servers.js';

export type Layer = 'managed' | 'user' | 'project';

export interface ConfigValue {
  readonly path: readonly string[];
  /** In wield's units. */
  readonly value: unknown;
  /** As it stands in the file. */
  readonly written: string;
  readonly layer: Layer;
  readonly file: string;
  readonly line: number;
  /** Of a key that holds rules: each of them. */
  readonly rules?: readonly Rule[];
  /** Of a key that is a server: the whole of it, which `value` has without its secrets. */
  readonly server?: ServerEntry;
}

export interface ConfigFile {
  readonly values: readonly ConfigValue[];
  readonly problems: readonly Problem[];
  /** Set where the file cannot be used at all; then everything is denied (POL-9). */
  readonly fault?: string;
}

export function readConfigFile(file: string, layer: Layer, text: FileText): ConfigFile {
  if (text === undefined) return { values: [], problems: [] };
  if (typeof text !== 'string') return unusable(file, quoteOutside(text.message.split('\n')[0]!), file);
  const parsed = parseToml(text);
  if ('message' in parsed) return unusable(file, parsed.message, `${file}:${parsed.line}`);
  const values: ConfigValue[] = [];
  const problems: Problem[] = [];
  let fault: string | undefined;
  const refuse = (line: number, reason: string): void => {
    problems.push(problem(file, reason.replace(`${file}:`, 'line '), `mend ${file}:${line}`));
    fault ??= reason;
  };
  for (const { path, value } of leaves(parsed.document)) {
    const name = keyName(path);
    const line = lineOf(text, path, 1);
    const key = Object.hasOwn(KEYS, name) ? KEYS[name]! : undefined;
    if (key === undefined) {
      const close = nearest(name, Object.keys(KEYS));
      problems.push(
        problem(
          file,
          `line ${line}: unknown key "${quoteOutside(path.join('.'))}"`,
          close.length > 0 ? `did you mean ${close[0]}?` : 'remove it',
        ),
      );
    } else if (key.server) {
      const lineOfSteps = (steps: readonly string[]): number => lineOf(text, [...path, ...steps], 1);
      const read = readServerTable({ path, value, file, layer, lineOf: lineOfSteps });
      values.push(...read.values);
      problems.push(...read.problems);
    } else if (key.rules) {
      const texts = key.parse(value) as readonly string[] | undefined;
      const rules =
        texts === undefined
          ? `${file}:${line}: ${name} must be ${key.expected}`
          : readRules(texts, { key: name, file, line, text });
      if (typeof rules === 'string') refuse(line, rules);
      else if (name === 'allowed-tools' && rules.length > 0 && rules.every(isDeny))
        problems.push({
          severity: 'warning',
          path: file,
          message: `line ${line}: allowed-tools denies and selects nothing, so no tool can be called`,
          hint: 'begin it with *',
        });
      if (typeof rules !== 'string')
        values.push({ path, value: texts, written: JSON.stringify(value), layer, file, line, rules });
    } else if (key.parse(value) === undefined) {
      const fault = key.findFault?.(value) ?? `must be ${key.expected}`;
      problems.push(problem(file, `line ${line}: ${path.join('.')} ${fault}`, `mend ${file}:${line}`));
    } else if (
      layer === 'project' &&
      (key.project === 'ignored' || (key.project === 'joins' && key.narrows?.(key.parse(value)) !== true))
    ) {
      problems.push(
        problem(
          file,
          `line ${line}: a project cannot set ${path.join('.')}, so it is ignored`,
          'set it in ~/.wield/config.toml',
        ),
      );
    } else {
      let parsed = key.parse(value);
      if (layer === 'project' && key.project === 'extends') {
        parsed = filterPaths(parsed as readonly PathEntry[], (dir) => {
          const isOwn = isBelow(dir);
          if (!isOwn) problems.push(notOwn(file, line, path, dir));
          return isOwn;
        });
      }
      values.push({
        // Entries of all layers hold side by side.
        path: key.project === 'joins' ? [path[0]!, layer, ...path.slice(1)] : canonicalPath(path),
        value: parsed,
        written: JSON.stringify(key.mask === undefined ? value : key.mask(value)),
        layer,
        file,
        line,
      });
    }
  }
  return { values, problems, ...(fault === undefined ? {} : { fault }) };
}

function unusable(file: string, what: string, where: string): ConfigFile {
  return {
    values: [],
    problems: [problem(file, `cannot be used: ${what}`, `mend ${where}`)],
    fault: `${where}: ${what}`,
  };
}

function isDeny({ selector }: Rule): boolean {
  return selector.policy === 'deny';
}

// A checkout may order what it holds itself, and name nothing else on the machine.
function isBelow(dir: string): boolean {
  return !isAbsolute(dir) && !dir.startsWith('~') && !/^\.\.(?:[/\\]|$)/.test(normalize(dir));
}

function notOwn(file: string, line: number, path: readonly string[], dir: string): Problem {
  return problem(
    file,
    `line ${line}: a project's ${path.join('.')} cannot name "${quoteOutside(dir)}", which is outside its workdir`,
    'name it in ~/.wield/config.toml',
  );
}

function problem(path: string, message: string, hint: string): Problem {
  return { severity: 'error', path, message, hint };
}
