// The header of argc scripts, as in llm-functions: `@describe`, `@option`, `@flag`, `@arg`, `@env`.

import type { JsonSchema } from '../../core/schema.js';
import { sanitize } from '../../core/text.js';
import type { ArgcParameter } from '../../core/tool.js';
import type { HeaderParameter } from './fields.js';
import type { ForeignHeader } from './header.js';

const TAG = /^\s*#\s*@(\w+)(?:\s+(.*))?$/;
const COMMENT = /^\s*#\s?(.*)$/;
// -f --name!*+~ [choices] =default <NOTATION> description
const PARAMETER =
  /^(?:-\S\s+)?(-{0,2})([A-Za-z][\w-]*)([!*+~]?),?(?:\[(=?)([^\]]*)\])?(?:=(`[^`]*`|"[^"]*"|'[^']*'|\S+))?((?:\s+<[^>]*>)*)(?:\s+(.*))?$/s;
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
    if (parameters.some(({ name }) => name === found.name)) return `declares ${found.name} twice`;
    parameters.push(found);
    call.push({ name: found.name, kind: tag });
  }
  const description = tags
    .filter(({ tag }) => tag === 'describe')
    .map(({ value }) => value)
    .join('\n');
  return {
    description,
    parameters,
    needs,
    flags: new Set(),
    tags: [],
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
  const [, , written = '', modifier, isFirst, list, fallback, notations = '', text = ''] = match;
  const choices = list === undefined || list.startsWith('`') ? [] : list.split('|');
  const isMany = tag !== 'flag' && /[*+~]/.test(modifier ?? '');
  const type =
    tag === 'flag' ? 'boolean' : /<INT>/.test(notations) ? 'integer' : /<NUM>/.test(notations) ? 'number' : 'string';
  const own: JsonSchema = choices.length > 0 ? { enum: choices } : {};
  const plain = fallback?.replace(/^(["'])(.*)\1$/s, '$2');
  const first = isFirst === '=' ? choices[0] : plain;
  const given: JsonSchema = first === undefined || first.startsWith('`') || type !== 'string' ? {} : { default: first };
  return {
    name: written.replaceAll('-', '_'),
    required: modifier === '!' || modifier === '+',
    ...(isMany ? { type: 'array', keywords: { items: { type, ...own } } } : { type, keywords: { ...own, ...given } }),
    description: sanitize(text).trim(),
  };
}
