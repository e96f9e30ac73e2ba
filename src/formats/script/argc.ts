// The header of argc scripts, as in llm-functions: `@describe`, `@option`, `@flag`, `@arg`, `@env`.

import type { JsonSchema } from '../../core/schema.js';
import { sanitize } from '../../core/text.js';
import { type ArgcParameter, NO_TRAITS } from '../../core/tool.js';
import type { HeaderParameter } from './fields.js';
import type { ForeignHeader } from './header.js';

const TAG = /^\s*#\s*@(\w+)(?:\s+(.*))?$/;
const COMMENT = /^\s*#\s?(.*)$/;
// -f --name!*+~ [choices] =default $VARIABLE <NOTATION> description; a short name may be the only one.
const PARAMETER =
  /^(?:[-+]\S\s+(?=[-+]))?([-+]{0,2})(\w[\w.:-]*|[^\s\w-])(?:([!~])|([*+])[,:@|/]?)?(?:\[(=?)([^\]]*)\])?(?:=(`[^`]*`|"[^"]*"|'[^']*'|[^\s<]+))?(?:\s+\$[$\w]+)?((?:\s*<[^>]*>)*)(?:\s+\$[$\w]+)?(?:\s+(.*))?$/s;
const VARIABLE = /^([A-Za-z_]\w*)(!?)(?:=(\S+))?/;

/** Undefined if it is not a header of argc; a text says why it cannot be used. */
export function readArgc(text: string): ForeignHeader | string | undefined {
  const tags = collect(text);
  if (tags.every(({ tag }) => tag !== 'describe')) return undefined;
  if (tags.some(({ tag }) => tag === 'cmd')) return 'has subcommands (@cmd), which are not supported';
  const parameters: HeaderParameter[] = [];
  const call: ArgcParameter[] = [];
  const needs: string[] = [];
  const defaults: Record<string, string> = {};
  for (const { tag, value } of tags) {
    if (tag === 'env') {
      const [, name, isRequired, fallback] = VARIABLE.exec(value) ?? [];
      if (name !== undefined && isRequired === '!') needs.push(name);
      if (name !== undefined && fallback !== undefined) defaults[name] = fallback;
    }
    if (tag !== 'option' && tag !== 'flag' && tag !== 'arg') continue;
    const found = readParameter(tag, value);
    if (found === undefined) return `has an unreadable @${tag}: ${sanitize(value).slice(0, 60)}`;
    const { name: variable } = found;
    const same = call.filter((one) => one.variable === variable);
    if (same.some(({ kind }) => (kind === 'arg') === (tag === 'arg'))) {
      if (tag === 'arg') return `declares ${variable} twice`;
      // `-help` and `--help` set one variable.
      continue;
    }
    // An option and an argument may have one name, and then set the same variable.
    const name = same.length === 0 ? variable : `${tag}_${variable}`;
    if (parameters.some((one) => one.name === name)) return `declares ${name} twice`;
    parameters.push({ ...found, name });
    call.push({ name, kind: tag, variable });
  }
  const description = tags
    .filter(({ tag }) => tag === 'describe')
    .map(({ value }) => value)
    .join('\n');
  return {
    description,
    parameters,
    needs,
    traits: NO_TRAITS,
    call: { kind: 'argc', parameters: call, defaults },
  };
}

// A comment line without a tag continues the tag above it.
function collect(text: string): { tag: string; value: string }[] {
  const tags: { tag: string; value: string }[] = [];
  let isOpen = false;
  for (const line of text.split('\n').slice(1)) {
    const [, tag, value = ''] = TAG.exec(line) ?? [];
    const comment = COMMENT.exec(line);
    if (tag !== undefined) tags.push({ tag, value: value.trim() });
    else if (isOpen && comment !== null) tags.at(-1)!.value += `\n${comment[1]!.trimEnd()}`;
    isOpen = comment !== null && tags.length > 0;
  }
  return tags;
}

function readParameter(tag: 'option' | 'flag' | 'arg', value: string): HeaderParameter | undefined {
  const match = PARAMETER.exec(value);
  if (match === null || (match[1] === '') !== (tag === 'arg')) return undefined;
  const [, prefix = '', written = '', single, many, isFirst, list, fallback, notation = '', text = ''] = match;
  const choices = list === undefined || /^\??`/.test(list) ? [] : list.split('|');
  const notations = [...notation.matchAll(/<([^>]*)>/g)].map(([, one]) => one!);
  const length = toLength(notations);
  const isRepeated = single === '~' || many !== undefined;
  const isMany = tag !== 'flag' && (isRepeated || length.maxItems !== 1);
  const isEach = (pattern: RegExp): boolean => notations.length > 0 && notations.every((one) => pattern.test(one));
  const type =
    tag === 'flag'
      ? 'boolean'
      : isEach(/^INT[*+?]?$/)
        ? 'integer'
        : isEach(/^(?:INT|NUM)[*+?]?$/)
          ? 'number'
          : 'string';
  const own: JsonSchema = choices.length > 0 ? { enum: choices } : {};
  const first = isFirst === '=' ? choices[0] : fallback?.replace(/^(["'])(.*)\1$/s, '$2');
  const isKnown = first !== undefined && !first.startsWith('`') && tag !== 'flag';
  const given = type === 'string' ? first : Number(first);
  const name = written.replace(/[^A-Za-z0-9]/g, '_');
  const { minItems = 0 } = length;
  const limits = !isRepeated ? length : minItems > 1 || many === '+' ? { minItems } : {};
  return {
    name: prefix.startsWith('+') ? `plus_${name}` : name,
    required: single === '!' || many === '+',
    ...(isMany
      ? { type: 'array', keywords: { items: { type, ...own }, ...limits } }
      : { type, keywords: { ...own, ...(isKnown && !Number.isNaN(given) && { default: given }) } }),
    description: sanitize(text).trim(),
  };
}

// Each notation is a value: `<W> <H>` are two, and the last one may be repeated or missing (`<FILE*>`).
function toLength(notations: readonly string[]): { readonly minItems?: number; readonly maxItems?: number } {
  const count = Math.max(1, notations.length);
  const modifier = /[*+?]$/.exec(notations.at(-1) ?? '')?.[0];
  const minItems = modifier === '*' || modifier === '?' ? count - 1 : count;
  return {
    ...(minItems > 0 && { minItems }),
    ...((modifier === undefined || modifier === '?') && { maxItems: count }),
  };
}
