// Reads the recipes of a justfile without evaluating anything.

import type { Steps } from '../shared/known-commands.js';
import { isPlainWord, VALUE } from '../shared/shell-text.js';

export interface JustParameter {
  readonly name: string;
  /** The default as written. */
  readonly fallback: string | undefined;
  readonly isList: boolean;
  readonly isRequired: boolean;
  /** Whether its value certainly never becomes text of a shell, because it is quoted, an argument or a variable. */
  readonly isQuoted: boolean;
}

export interface Recipe {
  readonly name: string;
  readonly line: number;
  readonly isPrivate: boolean;
  /** Why it cannot be offered. */
  readonly fault: string | undefined;
  readonly about: string | undefined;
  readonly group: string | undefined;
  readonly parameters: readonly JustParameter[];
  /** Its header and body. */
  readonly runs: string;
  readonly steps: Steps | undefined;
}

export interface Justfile {
  readonly recipes: readonly Recipe[];
  /** Imports and modules. */
  readonly others: readonly { readonly kind: string; readonly name: string; readonly line: number }[];
}

interface Attributes {
  readonly names: Set<string>;
  doc?: string;
  group?: string;
}

interface Draft {
  readonly name: string;
  readonly line: number;
  readonly about: string | undefined;
  readonly attributes: Attributes;
  /** Undefined if they could not be read. */
  readonly parameters: readonly Parameter[] | undefined;
  /** The header. */
  readonly header: string;
  readonly body: string[];
}

type Parameter = Omit<JustParameter, 'isQuoted'>;

const HEADER = /^@?([A-Za-z_][A-Za-z0-9_-]*)(?=[\s:])/;

export function readJustfile(text: string): Justfile {
  const drafts = new Map<string, Draft[]>();
  const others: { kind: string; name: string; line: number }[] = [];
  let comment: string | undefined;
  let attributes: Attributes = { names: new Set() };
  let current: Draft | undefined;
  const next = (): void => {
    comment = undefined;
    attributes = { names: new Set() };
  };
  const lines = text.split(/\r?\n/);
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index]!;
    if (/^\s+\S/.test(line)) {
      current?.body.push(line);
      continue;
    }
    if (line.trim() === '') {
      comment = undefined;
      continue;
    }
    if (line.startsWith('#')) {
      comment = line.replace(/^#+\s*/, '').trim();
      continue;
    }
    if (line.startsWith('[')) {
      const start = index;
      index = skipValue(lines, start);
      readAttributes(joinLines(lines.slice(start, index + 1)), attributes);
      continue;
    }
    current = undefined;
    const other = /^(import|mod)\??\s+(.+)$/.exec(line);
    if (other !== null && !/^(?:import|mod)\s*:/.test(line))
      others.push({ kind: other[1]!, name: other[2]!.replace(/['"]/g, ''), line: index + 1 });
    // An assignment, a setting or an alias may go on over several lines in triple quotes, backticks or brackets.
    else if (isDeclaration(line)) index = skipValue(lines, index);
    else {
      const name = HEADER.exec(line)?.[1];
      if (name !== undefined) {
        const start = index;
        index = skipValue(lines, index);
        const header = joinLines(lines.slice(start, index + 1));
        const parameters = readParameters(header.slice(header.indexOf(name) + name.length));
        current = { name, line: start + 1, about: attributes.doc ?? comment, attributes, parameters, header, body: [] };
        // The same recipe for several systems, or declared again; which one runs is not judged.
        drafts.set(name, [...(drafts.get(name) ?? []), current]);
      }
    }
    next();
  }
  const isShell = !/^quote\s*\(|^set\s+shell\b/m.test(text.replace(POSIX_SHELL, ''));
  const imports = others.some(({ kind }) => kind === 'import');
  return { recipes: [...drafts.values()].map((declared) => toRecipe(declared, { isShell, imports })), others };
}

// Settings of a shell that reads quotes as `quote()` writes them.
const POSIX_SHELL = /^set\s+shell\s*:=\s*\[\s*(['"])(?:\/\w+\/)*(?:ba|da|z)?sh\1\s*,\s*(['"])-[a-z]*c\2\s*,?\s*\]/gm;

/** What the rest of a file says about its recipes. */
interface Context {
  /** Whether lines are for a POSIX shell, and `quote` is the function of just. */
  readonly isShell: boolean;
  /** Whether other files can change settings, and declare a recipe for this system. */
  readonly imports: boolean;
}

// The last declaration describes a recipe that is declared several times.
function toRecipe(drafts: readonly Draft[], context: Context): Recipe {
  const { name, line, about, attributes, parameters = [] } = drafts.at(-1)!;
  const has = (attribute: string): boolean => drafts.some((one) => one.attributes.names.has(attribute));
  return {
    name,
    line,
    isPrivate: name.startsWith('_') || has('private'),
    fault: findFault(drafts, has),
    about,
    group: attributes.group,
    parameters: parameters.map((one) => ({ ...one, isQuoted: isQuoted(one.name, drafts, context) })),
    runs: drafts.flatMap(({ header, body }) => [header, ...body]).join('\n'),
    steps: stepsOf(drafts),
  };
}

function findFault(drafts: readonly Draft[], has: (attribute: string) => boolean): string | undefined {
  if (drafts.at(-1)!.parameters === undefined) return 'its parameters cannot be read';
  if (new Set(drafts.map((one) => JSON.stringify(one.parameters))).size > 1)
    return 'it is declared several times, with other parameters';
  if (has('confirm')) return 'it asks for confirmation at a terminal';
  return has('arg') ? 'it has options ([arg]), which are not supported' : undefined;
}

// Dependencies without values, and lines; not those of a script.
function stepsOf(drafts: readonly Draft[]): Steps | undefined {
  const headers = drafts.map(({ header }) => /^[^:=`'"()]*:(?!=)([\w\s&-]*)(?:#.*)?$/.exec(header)?.[1]);
  const lines = drafts.flatMap(({ body }) => body).map((line) => line.trim().replace(/^[@-]+/, ''));
  if (headers.includes(undefined) || lines[0]?.startsWith('#!')) return undefined;
  return { commands: [lines.join('\n')], tasks: headers.flatMap((needs = '') => needs.match(/[\w-]+/g) ?? []) };
}

// Other attributes choose the system that a recipe is for, or another interpreter.
const PLAIN_ATTRIBUTES = ['doc', 'group', 'positional-arguments', 'no-cd', 'no-exit-message', 'working-directory'];

// Whether a value certainly does not become text of a shell, since it is not interpolated, or with quote() as a word of its own.
// Dependencies, defaults and other declarations may do so as well.
function isQuoted(name: string, [draft, ...others]: readonly Draft[], { isShell, imports }: Context): boolean {
  if (draft === undefined || others.length > 0) return false;
  const { attributes, header } = draft;
  const body = draft.body.join('\n');
  const isPlain = [...attributes.names].every((attribute) => PLAIN_ATTRIBUTES.includes(attribute));
  const mention = new RegExp(`(?<![\\w-])${name}(?![\\w-])`, 'g');
  if (!isPlain || (header.match(mention) ?? []).length > 1) return false;
  const text = body.replace(/\{\{\s*quote\(\s*([\w-]+)\s*\)\s*\}\}/g, (_, of) => (of === name ? VALUE : 'x'));
  // A string in an expression may contain braces.
  const unclear = text.replace(/\{\{[^{}'"`]*\}\}/g, (use) => (use.match(mention) === null ? '' : use));
  if (unclear.includes('{{')) return false;
  if (!text.includes(VALUE)) return true;
  const lines = text.split(/(?<!\\)\n/).filter((line) => line.includes(VALUE));
  return isShell && !imports && !/^\s*#!/.test(body) && lines.every(isPlainWord);
}

function readAttributes(line: string, into: Attributes): void {
  for (const [, name = '', value] of line.matchAll(
    /[[,]\s*([a-z-]+)\s*(?:[(:]\s*(?:'([^']*)'|"[^"]*")[^)\],]*\)?)?/g,
  )) {
    into.names.add(name);
    const text = value ?? new RegExp(`${name}\\s*[(:]\\s*"([^"]*)"`).exec(line)?.[1];
    if (name === 'doc' && text !== undefined) into.doc = text;
    if (name === 'group' && text !== undefined) into.group ??= text;
  }
}

function isDeclaration(line: string): boolean {
  return (
    /^(?:export\s+|eager\s+|lazy\s+|unexport\s+|alias\s+|set\s+)?[A-Za-z_][\w-]*\s*:=/.test(line) ||
    /^(?:set|unexport|alias)\s+[\w-]+/.test(line)
  );
}

function joinLines(lines: readonly string[]): string {
  return lines.map((line) => line.trim().replace(/\\$/, '')).join(' ');
}

// Returns the index of the last line of a value, a header or attributes.
function skipValue(lines: readonly string[], start: number): number {
  let index = start;
  let rest = lines[index]!;
  for (const fence of ['"""', "'''", '```']) {
    if (rest.split(fence).length % 2 === 1) continue;
    while (++index < lines.length && !lines[index]!.includes(fence));
    return Math.min(index, lines.length - 1);
  }
  const open = (): boolean => count(rest, /[([{]/g) > count(rest, /[)\]}]/g) || /\\$/.test(rest);
  while (open() && index + 1 < lines.length && index - start < 200)
    rest = `${rest.replace(/\\$/, '')}\n${lines[++index]!}`;
  return index;
}

function count(text: string, pattern: RegExp): number {
  // Brackets in quotes and comments do not count.
  const bare = text.replace(/'[^'\n]*'|"(?:[^"\\\n]|\\.)*"|`[^`\n]*`/g, '').replace(/#.*/g, '');
  return (bare.match(pattern) ?? []).length;
}

const NAME = /^([+*]?)(\$?)([A-Za-z_][A-Za-z0-9_-]*)/;

// The parameters of a header up to its colon; undefined if they cannot be read.
function readParameters(header: string): readonly Parameter[] | undefined {
  const parameters: Parameter[] = [];
  let rest = header.trimStart();
  while (!rest.startsWith(':')) {
    const match = NAME.exec(rest);
    if (match === null) return undefined;
    const [whole, list = '', , name = ''] = match;
    rest = rest.slice(whole.length).trimStart();
    let fallback: string | undefined;
    if (rest.startsWith('=')) {
      const value = readValue(rest.slice(1).trimStart());
      if (value === undefined) return undefined;
      fallback = value.trim();
      rest = rest.slice(1).trimStart().slice(value.length).trimStart();
    }
    const isList = list !== '';
    parameters.push({ name, fallback, isList, isRequired: fallback === undefined && list !== '*' });
  }
  return parameters;
}

// A default is a string, a name, a call, a command in backticks or an expression in parentheses.
function readValue(text: string): string | undefined {
  const simple = /^(?:[xf]?(?:'[^']*'|"(?:[^"\\]|\\.)*")|`[^`]*`|[A-Za-z_][\w-]*(?=[\s:=(]|$))/.exec(text)?.[0];
  const start = simple ?? '';
  if (!text.slice(start.length).startsWith('(')) return simple;
  let depth = 0;
  for (let at = start.length; at < text.length; at++) {
    const quoted = /^(?:'[^']*'|"(?:[^"\\]|\\.)*"|`[^`]*`)/.exec(text.slice(at))?.[0];
    if (quoted !== undefined) at += quoted.length - 1;
    else if (text[at] === '(') depth++;
    else if (text[at] === ')' && --depth === 0) return text.slice(0, at + 1);
  }
  return undefined;
}
