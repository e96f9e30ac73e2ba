// Parses one configuration file: values with their lines, and problems.

import { isAbsolute, normalize } from 'node:path';
import type { Problem } from '../core/problem.js';
import type { Rule } from '../core/rule.js';
import { filterPaths, type PathEntry } from '../core/search-path.js';
import { nearest, quoteOutside } from '../core/text.js';
import type { FileText } from '../files/read.js';
import { lineOf, parseToml } from '../files/toml.js';
import { canonicalPath, KEYS, keyName, leaves, mayRestrict } from './keys.js';
import { readRules } from './rules.js';
import { readServerTable } from './servers.js';
import type { ConfigFile, Layer } from './value.js';

/** One key of a file, with its value and line. */
interface Leaf {
  readonly path: readonly string[];
  readonly name: string;
  readonly value: unknown;
  readonly key: (typeof KEYS)[string];
  readonly line: number;
}

interface FileContext {
  readonly file: string;
  readonly layer: Layer;
  readonly text: string;
}

export function readConfigFile(file: string, layer: Layer, text: FileText): ConfigFile {
  if (text === undefined) return { values: [], problems: [] };
  if (typeof text !== 'string') return unusable(file, quoteOutside(text.message.split('\n')[0]!, 400), file, text.hint);
  const parsed = parseToml(text);
  if ('message' in parsed) {
    const line = text.split('\n')[parsed.line - 1] ?? '';
    const what = /^\s*\[\[sandbox\]\]/.test(line)
      ? 'write [[sandbox.rules]], or [[sandbox]] before [sandbox.NAME]'
      : parsed.message;
    return unusable(file, what, `${file}:${parsed.line}`);
  }
  const context = { file, layer, text };
  const parts = leaves(parsed.document).map(({ path, value }): ConfigFile => {
    const name = keyName(path);
    const line = lineOf(text, path, 1);
    const key = Object.hasOwn(KEYS, name) ? KEYS[name]! : undefined;
    if (key === undefined) return unknownKey(context, line, path, name);
    const leaf: Leaf = { path, name, value, key, line };
    if (key.server) {
      const lineOfSteps = (steps: readonly string[]): number => lineOf(text, [...path, ...steps], 1);
      return readServerTable({ path, value, file, layer, lineOf: lineOfSteps });
    }
    return key.rules ? readRuleKey(leaf, context) : readValue(leaf, context);
  });
  return {
    values: parts.flatMap(({ values }) => values),
    problems: parts.flatMap(({ problems }) => problems),
    fault: parts.find(({ fault }) => fault !== undefined)?.fault,
  };
}

function readRuleKey({ path, name, value, key, line }: Leaf, { file, layer, text }: FileContext): ConfigFile {
  const texts = key.parse(value) as readonly string[] | undefined;
  const rules =
    texts === undefined
      ? { fault: `${name} must be ${key.expected}`, line }
      : readRules(texts, { key: name, file, line, text });
  if ('fault' in rules)
    return {
      ...invalid(problem(file, `line ${rules.line}: ${rules.fault}`, `fix ${file}:${line}`)),
      fault: `${file}:${rules.line}: ${rules.fault}`,
    };
  const isUseless = name === 'allowed-tools' && rules.length > 0 && rules.every(isDeny);
  return {
    values: [{ path, value: texts, written: JSON.stringify(value), layer, file, line, rules }],
    problems: isUseless ? [selectsNothing(file, line)] : [],
  };
}

function readValue({ path, value, key, line }: Leaf, { file, layer }: FileContext): ConfigFile {
  const parsed = key.parse(value, path);
  const isProject = layer === 'project';
  if (parsed === undefined) {
    const fault = key.findFault?.(value, path) ?? `must be ${key.expected}`;
    const found = problem(file, `line ${line}: ${path.join('.')} ${fault}`, `fix ${file}:${line}`);
    const denies = key.restricts && !(isProject && key.project === 'ignored');
    return { ...invalid(found), fault: denies ? `${file}:${line}: ${path.join('.')} ${fault}` : undefined };
  }
  if (isProject && (key.project === 'ignored' || (key.project === 'joins' && key.narrows?.(parsed) !== true)))
    return invalid(
      problem(
        file,
        `line ${line}: a project cannot set ${path.join('.')}, so it is ignored`,
        'set it in ~/.wield/config.toml',
      ),
    );
  const problems: Problem[] = [];
  const onlyOwn = (dir: string): boolean => {
    const isOwn = isBelow(dir);
    if (!isOwn) problems.push(notOwn(file, line, path, dir));
    return isOwn;
  };
  return {
    values: [
      {
        // Entries of all layers apply together.
        path: key.project === 'joins' ? [path[0]!, layer, ...path.slice(1)] : canonicalPath(path),
        value: isProject && key.project === 'extends' ? filterPaths(parsed as readonly PathEntry[], onlyOwn) : parsed,
        written: JSON.stringify(key.mask === undefined ? value : key.mask(value)),
        layer,
        file,
        line,
      },
    ],
    problems,
  };
}

function invalid(found: Problem): ConfigFile {
  return { values: [], problems: [found] };
}

function unknownKey({ file }: FileContext, line: number, path: readonly string[], name: string): ConfigFile {
  const [close] = nearest(name.replaceAll('_', '-'), Object.keys(KEYS));
  const hint = close === undefined ? 'remove it' : `did you mean ${close}?`;
  const what = `unknown key "${quoteOutside(path.join('.'))}"`;
  return {
    ...invalid(problem(file, `line ${line}: ${what}`, hint)),
    fault: mayRestrict(path, close) ? `${file}:${line}: ${what}, ${hint}` : undefined,
  };
}

function selectsNothing(file: string, line: number): Problem {
  return {
    severity: 'warning',
    path: file,
    message: `line ${line}: allowed-tools only denies, so no tool can be called`,
    hint: 'start it with *',
  };
}

function unusable(file: string, what: string, where: string, hint = `fix ${where}`): ConfigFile {
  return { values: [], problems: [problem(file, `cannot be used: ${what}`, hint)], fault: `${where}: ${what}` };
}

function isDeny({ selector }: Rule): boolean {
  return selector.policy === 'deny';
}

// A project's search path may only name directories inside the project.
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
