// Parses the comment header of a script, and turns it into the schemas and traits of a tool.

import type { Finding } from '../../core/problem.js';
import { type JsonSchema, NO_PARAMETERS } from '../../core/schema.js';
import { nearest, quoteOutside } from '../../core/text.js';
import type { ScriptCall, Traits } from '../../core/tool.js';
import { parseSandboxRequest } from '../../process/sandbox/applied.js';
import {
  cleanDescription,
  type HeaderParameter,
  readEnv,
  readExamples,
  readParameters,
  readRequires,
  readReturns,
  readTags,
  readTimeout,
} from './fields.js';
import { type CollectedTags, collectTags, KNOWN_TAGS, type TagValue } from './tags.js';

export interface ScriptHeader {
  /** The interpreter line without `#!`. */
  readonly shebang: string;
  readonly description: string;
  readonly parameters: readonly HeaderParameter[];
  /** Schema of its output. */
  readonly output?: JsonSchema | undefined;
  /** Names of the environment variables that it needs. */
  readonly needs: readonly string[];
  readonly traits: Traits;
}

/** What a header of another program says, and how its script is called. */
export interface ForeignHeader extends Pick<ScriptHeader, 'description' | 'parameters' | 'needs' | 'traits'> {
  readonly call: ScriptCall;
}

export interface HeaderFinding extends Finding {
  /** A shell command that fixes the problem when the file's path is appended. */
  readonly command?: string;
}

export interface HeaderReading {
  /** Absent if there are errors. */
  readonly header?: ScriptHeader;
  readonly errors: readonly HeaderFinding[];
  readonly warnings: readonly HeaderFinding[];
  /** For the debug log (SCR-5). */
  readonly unknownTags: readonly string[];
}

/** Parses the first lines of a script; text after the header is ignored. */
export function readScriptHeader(text: string): HeaderReading {
  const shebang = readShebang(text);
  if (typeof shebang !== 'string') return { errors: [shebang], warnings: [], unknownTags: [] };
  const errors: Finding[] = [];
  const warnings: Finding[] = [];
  const collected = collectTags(text);
  const { values, unknownTags } = collected;
  for (const tag of unknownTags) {
    const [meant] = nearest(tag, KNOWN_TAGS);
    if (meant !== undefined) warnings.push({ message: `unknown tag @${tag}`, hint: `did you mean @${meant}?` });
  }
  const all = (tag: string): readonly TagValue[] => values.get(tag) ?? [];
  const textOf = (tag: string): string | undefined => all(tag)[0]?.text.trim();

  const description = all('description')
    .map((value) => cleanDescription(value.text, value, warnings))
    .join('\n')
    .trim();
  if (description === '') errors.push(noDescription(text, collected));
  const parameters = readParameters(all('param'), errors, warnings);
  const timeoutMs = readTimeout(all('timeout')[0], warnings);
  const returns = readReturns(all('returns')[0], warnings);
  const needs = readEnv(all('env'), warnings);
  const examples = errors.length > 0 ? [] : readExamples(all('example'), warnings);
  const requires = readRequires(all('requires'), warnings);
  const labels = readTags(all('label'));
  const sandbox = textOf('sandbox');
  const has = (flag: string): boolean => values.has(flag);
  const header: ScriptHeader = {
    shebang,
    description,
    parameters,
    // What a call of a process in the background returns is not its output.
    output: has('background') ? undefined : returns,
    needs,
    traits: {
      group: textOf('group') || undefined,
      tags: readTags(all('tag')),
      labels: labels.length === 0 ? undefined : labels,
      hidden: has('hidden'),
      terminal: has('terminal'),
      readOnly: has('readonly') || undefined,
      destructive: has('destructive') || undefined,
      background: has('background') || undefined,
      timeoutMs,
      sandbox: sandbox === undefined ? undefined : parseSandboxRequest(sandbox),
      requires,
      runOn: textOf('run-on'),
      examples,
    },
  };
  return { header: errors.length > 0 ? undefined : header, errors, warnings, unknownTags };
}

function noDescription(text: string, { end }: CollectedTags): HeaderFinding {
  const message = 'missing @description';
  const hint = 'add a line below the shebang: # @description What it does, in a sentence.';
  if (end === undefined) return { message, hint };
  const ended = `line ${end.line} is not a comment and ends the header: ${quoteOutside(end.text, 40)}`;
  const below = text.split('\n').findIndex((line) => /^\s*(?:#|\/\/|--)\s*@desc(?:ription)?\b/i.test(line));
  const advice = below === -1 ? hint : `move line ${below + 1} above it`;
  return { message, hint: `${ended}; ${advice}`, line: end.line, column: 1 };
}

/** Returns the interpreter line without `#!`, or what is wrong with it. */
export function readShebang(text: string): string | HeaderFinding {
  if (text.startsWith('\ufeff')) {
    return {
      message: 'starts with a byte-order mark (EF BB BF) before the shebang, so the system would run it with sh',
      hint: 'remove the mark',
      command: "sed -i '1s/^\\xEF\\xBB\\xBF//'",
    };
  }
  const line = /^[^\n]*/.exec(text)![0];
  if (!line.startsWith('#!') || line.slice(2).trim() === '') {
    return { message: 'does not start with a shebang', hint: 'add a first line such as #!/usr/bin/env bash' };
  }
  if (line.endsWith('\r')) {
    return {
      message: 'the shebang ends with a carriage return (0D), so the interpreter would not be found',
      hint: 'use Unix line endings',
      command: "sed -i 's/\\r$//'",
    };
  }
  return line.slice(2).trim();
}

/** Returns the input schema: one property per parameter, in header order (SCR-8). */
export function toInputSchema({ parameters }: ScriptHeader): JsonSchema {
  if (parameters.length === 0) return NO_PARAMETERS;
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(
      parameters.map(({ name, type, keywords, description }) => [name, { type, ...keywords, description }]),
    ),
    ...(required.length > 0 ? { required } : {}),
  };
}
