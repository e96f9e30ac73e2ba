// Parses the comment header of a script, and turns it into the schemas and traits of a tool.

import type { Json } from '../../core/json.js';
import type { Finding } from '../../core/problem.js';
import type { SandboxRequest } from '../../core/sandbox.js';
import { nearest, quoteOutside } from '../../core/text.js';
import type { ScriptCall } from '../../core/tool.js';
import { parseSandboxRequest } from '../../process/sandbox/applied.js';
import {
  cleanDescription,
  type HeaderParameter,
  readEnv,
  readExamples,
  readParameters,
  readReturns,
  readTags,
  readTimeout,
  type TypedValue,
} from './fields.js';
import { type HeaderFinding, readShebang } from './shebang.js';
import { type CollectedTags, collectTags, FLAGS, type HeaderFlag, KNOWN_TAGS, type TagValue } from './tags.js';

export interface ScriptHeader {
  /** The interpreter line without `#!`. */
  readonly shebang: string;
  readonly description: string;
  readonly parameters: readonly HeaderParameter[];
  readonly returns?: TypedValue;
  readonly group?: string;
  readonly tags: readonly string[];
  readonly timeoutMs?: number;
  readonly flags: ReadonlySet<HeaderFlag>;
  readonly examples: readonly Json[];
  /** Names of the environment variables that it needs. */
  readonly needs: readonly string[];
  readonly sandbox?: SandboxRequest;
  /** The tag of the workers that it runs on. */
  readonly runOn?: string;
}

/** What a header of another program says, and how its script is called. */
export interface ForeignHeader
  extends Pick<ScriptHeader, 'description' | 'parameters' | 'needs' | 'flags' | 'group' | 'tags'> {
  readonly call: ScriptCall;
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
  const sandbox = textOf('sandbox');
  const header: ScriptHeader = {
    shebang,
    description,
    parameters,
    timeoutMs: readTimeout(all('timeout')[0], warnings),
    returns: readReturns(all('returns')[0], warnings),
    needs: readEnv(all('env'), warnings),
    group: textOf('group') || undefined,
    tags: readTags(all('tag')),
    flags: new Set(FLAGS.filter((flag) => values.has(flag))),
    examples: errors.length > 0 ? [] : readExamples(all('example'), warnings),
    sandbox: sandbox === undefined ? undefined : parseSandboxRequest(sandbox),
    runOn: textOf('run-on'),
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
