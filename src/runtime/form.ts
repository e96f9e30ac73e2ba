// Reduces the form of a question to the fields that every MCP client can show.

import { CONSENT_CHOICE } from '../core/elicit.js';
import { ToolError } from '../core/error.js';
import { isRecord, type Json, type JsonObject } from '../core/json.js';
import type { JsonSchema } from '../core/schema.js';
import { quoteOutside, sanitize } from '../core/text.js';

const MAX_MESSAGE = 4000;
const MAX_TEXT = 200;
const MAX_FIELDS = 32;
const MAX_CHOICES = 256;
const MAX_URL = 2048;
const NUMBERS: ReadonlySet<unknown> = new Set(['number', 'integer']);
const FORMATS: ReadonlySet<unknown> = new Set(['email', 'uri', 'date', 'date-time']);

/** Sanitises and truncates the message of a question. */
export function toMessage(text: unknown): string {
  const message = sanitize(String(text)).trim();
  return message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)} …` : message;
}

/** Returns the URL of a page to open. Throws unless it is http or https. */
export function toPage(text: unknown, tool: string): string {
  const url = typeof text === 'string' && text.length <= MAX_URL && URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && ['http:', 'https:'].includes(url.protocol)) return url.href;
  throw refused(tool, 'has an invalid URL', 'use an http or https URL');
}

/** Returns a form with only what the protocol defines. Throws on other kinds of fields. */
export function toForm(schema: unknown, tool: string): JsonSchema {
  const root = schema === undefined ? { type: 'object', properties: {} } : schema;
  if (!isRecord(root) || root.type !== 'object' || !isRecord(root.properties))
    throw refused(tool, 'has a form that is not an object of fields');
  const entries = Object.entries(root.properties);
  if (entries.length > MAX_FIELDS) throw refused(tool, `has a form with more than ${MAX_FIELDS} fields`);
  const properties: Record<string, Json> = {};
  for (const [name, field] of entries) {
    if (name === '__proto__' || !isPrintable(name))
      throw refused(tool, `has a field whose name cannot be shown: ${quoteOutside(name)}`);
    if (isReserved(name))
      throw refused(tool, `has a field with a reserved name: ${quoteOutside(name)}`, 'rename the field');
    properties[name] = toField(field, name, tool);
  }
  const required = Array.isArray(root.required) ? root.required.filter((name) => name in properties) : [];
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required }) };
}

function toField(field: unknown, name: string, tool: string): JsonObject {
  const bad = (): ToolError => refused(tool, `has an unsupported field "${name}"`);
  if (!isRecord(field)) throw bad();
  const { type } = field;
  const texts = pick(field, ['title', 'description'], (value) =>
    typeof value === 'string' && !isReserved(value) ? quoteOutside(value, MAX_TEXT) : undefined,
  );
  const standard = pick(field, ['default'], asJson);
  if (type === 'boolean') return { type, ...texts, ...standard };
  if (NUMBERS.has(type))
    return { type: type as string, ...texts, ...pick(field, ['minimum', 'maximum'], asNumber), ...standard };
  if (type === 'string') {
    const choices = toChoices(field, bad);
    const bounds = {
      ...pick(field, ['minLength', 'maxLength'], asNumber),
      ...pick(field, ['format'], (value) => (FORMATS.has(value) ? (value as string) : undefined)),
    };
    return { type, ...texts, ...(choices ?? bounds), ...standard };
  }
  const items = type === 'array' && isRecord(field.items) ? toChoices(field.items, bad) : undefined;
  if (items === undefined) throw bad();
  const shown: JsonObject = 'enum' in items ? { type: 'string', ...items } : { anyOf: items.oneOf! };
  return {
    type: 'array',
    ...texts,
    ...pick(field, ['minItems', 'maxItems'], asNumber),
    items: shown,
    ...standard,
  };
}

// Returns `enum`, with `enumNames` if an older form has them, or choices with titles; undefined if the text is free.
function toChoices(field: Record<string, unknown>, bad: () => ToolError): JsonObject | undefined {
  const titled = field.oneOf ?? field.anyOf;
  const listed = field.enum ?? titled;
  if (listed === undefined) return undefined;
  if (!Array.isArray(listed) || listed.length === 0 || listed.length > MAX_CHOICES) throw bad();
  const values = listed.map((entry) => (field.enum === undefined && isRecord(entry) ? entry.const : entry));
  if (!values.every((value) => typeof value === 'string' && isPrintable(value) && !isReserved(value))) throw bad();
  const named = field.enum === undefined ? listed.map((entry) => entry.title) : field.enumNames;
  if (!Array.isArray(named)) return { enum: values };
  const titles = values.map((value, at) =>
    typeof named[at] === 'string' && !isReserved(named[at]) ? quoteOutside(named[at], MAX_TEXT) : (value as string),
  );
  if (field.enum !== undefined) return { enum: values, enumNames: titles };
  return { oneOf: values.map((value, at) => ({ const: value, title: titles[at]! })) };
}

// What wield's own questions have, in any spelling (POL-34).
function isReserved(text: string): boolean {
  const letters = text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
  return letters.startsWith('wield') || letters === CONSENT_CHOICE.replaceAll(' ', '');
}

// Names and choices are sent back unchanged, so they must look like what they are.
function isPrintable(text: string): boolean {
  return text.length <= MAX_TEXT && !/[\n\t]/.test(text) && sanitize(text) === text;
}

function pick(
  from: Record<string, unknown>,
  keys: readonly string[],
  read: (value: unknown) => Json | undefined,
): JsonObject {
  const found = keys.map((key) => [key, read(from[key])] as const);
  return Object.fromEntries(found.filter((entry): entry is readonly [string, Json] => entry[1] !== undefined));
}

function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function asJson(value: unknown): Json | undefined {
  if (Array.isArray(value)) return value.every((entry) => typeof entry === 'string') ? value : undefined;
  return ['string', 'number', 'boolean'].includes(typeof value) ? (value as Json) : undefined;
}

function refused(tool: string, problem: string, hint?: string): ToolError {
  return new ToolError('invalid_definition', `the question of ${tool} ${problem}`, {
    hint: hint ?? 'a form is an object with text, number, boolean and choice fields',
  });
}
