// Reads the recipes of a justfile without evaluating anything.

import type { LeftOut } from '../shared/task-file.js';

export interface JustParameter {
  readonly name: string;
  /** The default as written. */
  readonly fallback: string | undefined;
  readonly isList: boolean;
  readonly isRequired: boolean;
  /** Whether its value never becomes text of a shell, because it is quoted, an argument or a variable. */
  readonly isQuoted: boolean;
}

export interface Recipe {
  readonly name: string;
  readonly line: number;
  readonly about: string | undefined;
  readonly group: string | undefined;
  readonly parameters: readonly JustParameter[];
  /** Its header and body. */
  readonly runs: string;
}

export interface Justfile {
  readonly recipes: readonly Recipe[];
  /** Recipes that are not offered. */
  readonly unlisted: readonly Pick<Recipe, 'name' | 'runs'>[];
  readonly leftOut: readonly LeftOut[];
  /** Imports and modules. */
  readonly others: readonly { readonly name: string; readonly line: number }[];
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
  const drafts = new Map<string, Draft>();
  const others: { name: string; line: number }[] = [];
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
      readAttributes(line, attributes);
      continue;
    }
    current = undefined;
    const other = /^(?:import|mod)\??\s+(.+)$/.exec(line);
    if (other !== null && !/^(?:import|mod)\s*:/.test(line))
      others.push({ name: other[1]!.replace(/['"]/g, ''), line: index + 1 });
    // An assignment, a setting or an alias may go on over several lines in triple quotes, backticks or brackets.
    else if (isDeclaration(line)) index = skipValue(lines, index);
    else {
      const name = HEADER.exec(line)?.[1];
      if (name !== undefined) {
        const start = index;
        let header = line;
        while (/\\$/.test(header) && index + 1 < lines.length)
          header = `${header.slice(0, -1)} ${lines[++index]!.trim()}`;
        const parameters = readParameters(header.slice(header.indexOf(name) + name.length));
        current = { name, line: start + 1, about: attributes.doc ?? comment, attributes, parameters, header, body: [] };
        // The same recipe for several systems.
        if (!drafts.has(name)) drafts.set(name, current);
      }
    }
    next();
  }
  return { ...toRecipes([...drafts.values()]), others };
}

function toRecipes(drafts: readonly Draft[]): Omit<Justfile, 'others'> {
  const recipes: Recipe[] = [];
  const leftOut: LeftOut[] = [];
  const unlisted: Pick<Recipe, 'name' | 'runs'>[] = [];
  for (const { name, line, about, attributes, parameters, header, body } of drafts) {
    const runs = [header, ...body].join('\n');
    unlisted.push({ name, runs });
    if (name.startsWith('_') || attributes.names.has('private')) continue;
    if (parameters === undefined) leftOut.push({ name, why: 'its parameters cannot be read' });
    else if (attributes.names.has('confirm')) leftOut.push({ name, why: 'it asks for confirmation at a terminal' });
    else if (attributes.names.has('arg'))
      leftOut.push({ name, why: 'it has options ([arg]), which are not supported' });
    else {
      recipes.push({
        name,
        line,
        about,
        group: attributes.group,
        runs,
        parameters: parameters.map((one) => ({ ...one, isQuoted: isQuoted(one.name, header, body.join('\n')) })),
      });
    }
  }
  return { recipes, unlisted, leftOut };
}

// A value is text of the shell where it is interpolated without quote(). Dependencies and defaults may do so as well.
function isQuoted(name: string, header: string, body: string): boolean {
  const uses = [...body.matchAll(/\{\{([\s\S]*?)\}\}/g)].map((match) => match[1]!);
  const mention = new RegExp(`(?<![\\w-])${name}(?![\\w-])`, 'g');
  if ((header.match(mention) ?? []).length > 1) return false;
  const quoted = new RegExp(`^\\s*quote\\(\\s*${name}\\s*\\)\\s*$`);
  return uses.every((use) => use.match(mention) === null || quoted.test(use));
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

// Returns the index of the last line of a value.
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
  // Brackets in quotes do not count.
  return (text.replace(/'[^'\n]*'|"(?:[^"\\\n]|\\.)*"|`[^`\n]*`/g, '').match(pattern) ?? []).length;
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
