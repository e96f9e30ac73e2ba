// Parses one configuration file: values with their lines, and problems.

import { isAbsolute, normalize } from 'node:path';
import { isToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import { isLabel } from '../core/label.js';
import type { Problem } from '../core/problem.js';
import type { Rule } from '../core/rule.js';
import { filterPaths, type PathEntry } from '../core/search-path.js';
import { isForRules, parseSelectors } from '../core/selector.js';
import { formatFault, formatPath, type Path, readShape } from '../core/shape.js';
import { nearest, quoteOutside } from '../core/text.js';
import type { FileText } from '../files/read.js';
import { lineOf, parseToml } from '../files/toml.js';
import { readServer } from '../upstream/entries/entry.js';
import { describeFinding, serverPointer } from '../upstream/entries/file.js';
import { toMaskedServer } from '../upstream/entries/mask.js';
import { canonicalPath, keyName, type Leaf, leaves, mayRestrict } from './key-path.js';
import { type Key, keys } from './keys.js';
import type { ConfigFile, Layer } from './value.js';

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
  const parts = leaves(parsed.document).map((leaf) => readLeaf(leaf, { file, layer, text }));
  return {
    values: parts.flatMap(({ values }) => values),
    problems: parts.flatMap(({ problems }) => problems),
    fault: parts.find(({ fault }) => fault !== undefined)?.fault,
  };
}

function readLeaf({ path, value }: Leaf, context: FileContext): ConfigFile {
  const { layer, text } = context;
  const name = keyName(path);
  const key = Object.hasOwn(keys(), name) ? keys()[name]! : undefined;
  if (key === undefined) return unknownKey(context, path, name);
  // `[[sandbox]]` is read as `[[sandbox.rules]]`.
  const written = (steps: Path): Path => (name === 'sandbox.rules' ? ['sandbox', ...steps.slice(2)] : steps);
  const lineAt = (steps: Path): number => Math.max(lineOf(text, steps, 1), lineOf(text, written(steps), 1));
  const line = lineAt(path);
  if (key.kind === 'server') return readServerTable({ path, value }, line, context);
  const denies = key.restricts === true && !(layer === 'project' && key.project === 'ignored');
  const misnamed = key.findNameFault?.(path.at(-1)!, value);
  if (misnamed !== undefined) return toInvalid(context, line, `${formatPath(path)} ${misnamed}`, denies);
  const { value: parsed, faults } = readShape(key.shape, value, path);
  const [fault] = faults;
  if (fault !== undefined) {
    const hint = fault.kind === 'unknown' ? fault.hint : undefined;
    return toInvalid(context, lineAt(fault.path), formatFault(fault), denies, hint);
  }
  if (key.kind === 'rules') return readRuleKey({ path, value }, parsed as readonly string[], line, context);
  return readValue({ path, value }, parsed, key, line, context);
}

function readRuleKey({ path, value }: Leaf, texts: readonly string[], line: number, context: FileContext): ConfigFile {
  const { file, layer } = context;
  const name = keyName(path);
  const rules = readRules(texts, name, line, context);
  if ('fault' in rules) return toInvalid(context, rules.line, rules.fault, true);
  const wrong = path[0] === 'labels' ? findLabelFault(path[1]!, rules, line) : undefined;
  if (wrong !== undefined) return toInvalid(context, wrong.line, wrong.fault, true);
  const isUseless =
    name === 'allowed-tools' && rules.length > 0 && rules.every(({ selector }) => selector.policy === 'deny');
  return {
    values: [{ path, value: texts, written: JSON.stringify(value), layer, file, line, rules }],
    problems: isUseless ? [selectsNothing(file, line)] : [],
  };
}

// Every call checks every rule.
const MAX_RULES = 5000;

interface RulesFault {
  readonly fault: string;
  readonly line: number;
}

// Returns the rules with their lines, or what is wrong with them: then the policy denies everything (POL-9).
function readRules(
  texts: readonly string[],
  key: string,
  line: number,
  { file, text }: FileContext,
): readonly Rule[] | RulesFault {
  const lineFrom = createLineFinder(text, line);
  const rules: Rule[] = [];
  for (const [index, entry] of texts.entries()) {
    try {
      for (const selector of parseSelectors(entry))
        rules.push(Object.freeze({ selector, file, line: lineFrom(selector.text) }));
    } catch (error) {
      if (!isToolError(error)) throw error;
      const which = texts.length > 1 ? `entry ${index + 1} of ${key}` : key;
      return { fault: `${which}: ${error.message}`, line: lineFrom(entry) };
    }
    if (rules.length > MAX_RULES) return { fault: `${key} has more than ${MAX_RULES} selectors`, line };
  }
  return rules;
}

// A list can span many lines, and the parser keeps no positions: each text is searched from the line of the previous one
// up to the next key. A text written with escapes gets the line of its key.
function createLineFinder(text: string, first: number): (wanted: string) => number {
  const lines = text.split('\n');
  let end = first;
  while (end < lines.length && !/^\s*(?:\[[^"'\]]*\]\s*(?:#.*)?$|[\w."'-]+\s*=)/.test(lines[end]!)) end++;
  let from = first - 1;
  return (wanted) => {
    for (let at = from; at < end; at++) {
      if (/^\s*#/.test(lines[at]!) || !lines[at]!.includes(wanted)) continue;
      from = at;
      return at + 1;
    }
    return first;
  };
}

// FLW-2: a label is that of a tool, whatever its input.
function findLabelFault(label: string, rules: readonly Rule[], line: number): RulesFault | undefined {
  if (!isLabel(label)) return { fault: `labels: "${quoteOutside(label, 60)}" must be lower case, with dashes`, line };
  const found = rules.find(({ selector }) => selector.arguments.length > 0 || isForRules(selector));
  if (found === undefined) return undefined;
  const fault = `labels.${label}: "${quoteOutside(found.selector.text, 200)}" must be a pattern of names or tags`;
  return { fault, line: found.line ?? line };
}

function readValue(
  { path, value }: Leaf,
  parsed: unknown,
  key: Key,
  line: number,
  { file, layer }: FileContext,
): ConfigFile {
  const isProject = layer === 'project';
  if (isProject && (key.project === 'ignored' || (key.project === 'joins' && key.narrows?.(parsed) !== true))) {
    const message = `line ${line}: a project cannot set ${path.join('.')}, so it is ignored`;
    return { values: [], problems: [problem(file, message, 'set it in ~/.wield/config.toml')] };
  }
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

// Only `server` may contain secrets.
function readServerTable({ path, value }: Leaf, line: number, { file, layer, text }: FileContext): ConfigFile {
  // A table of the array has its name in it.
  const { name, ...rest } = path[0] === 'mcp' && isRecord(value) ? value : { name: path[1] };
  const server = path[0] === 'mcp' && isRecord(value) ? rest : value;
  const named = typeof name === 'string' ? name : '';
  const owner = layer === 'project' ? 'workspace' : 'user';
  const { entry, findings } = readServer(named, server, { owner, position: { file, pointer: null, line } });
  const problems = findings.map(({ severity, keyPath, message, hint }) => ({
    severity,
    path: file,
    pointer: serverPointer(named, keyPath),
    message: `line ${lineOf(text, [...path, ...keyPath], 1)}: ${describeFinding(named, keyPath, message)}`,
    hint,
  }));
  if (entry === undefined) return { values: [], problems };
  const shown = toMaskedServer(entry);
  const written = JSON.stringify(shown);
  return {
    values: [{ path: ['mcpServers', named], value: shown, written, layer, file, line, server: entry }],
    problems,
  };
}

/** A value that cannot be used; `denies`: everything is denied. */
export function toInvalid(
  { file }: Pick<FileContext, 'file'>,
  line: number,
  what: string,
  denies: boolean,
  hint?: string,
): ConfigFile {
  const found = problem(file, `line ${line}: ${what}`, hint ?? `fix ${file}:${line}`);
  const fault = `${file}:${line}: ${what}${hint === undefined ? '' : `, ${hint}`}`;
  return { values: [], problems: [found], fault: denies ? fault : undefined };
}

function unknownKey(context: FileContext, path: readonly string[], name: string): ConfigFile {
  const [close] = nearest(name.replaceAll('_', '-'), Object.keys(keys()));
  const hint = close === undefined ? 'remove it' : `did you mean ${close}?`;
  const what = `unknown key "${quoteOutside(path.join('.'))}"`;
  return toInvalid(context, lineOf(context.text, path, 1), what, mayRestrict(path, close), hint);
}

function selectsNothing(file: string, line: number): Problem {
  return {
    severity: 'warning',
    path: file,
    message: `line ${line}: allowed-tools only denies, so no tool can be called`,
    hint: 'start it with *',
  };
}

/** A file, or a directory of files, that cannot be used: everything is denied (POL-9). */
export function unusable(file: string, what: string, where = file, hint = `fix ${where}`): ConfigFile {
  return { values: [], problems: [problem(file, `cannot be used: ${what}`, hint)], fault: `${where}: ${what}` };
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
