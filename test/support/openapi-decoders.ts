// Decodes requests as an OpenAPI document declares them, apart from the code under test.

import { isRecord } from '../../src/core/json.js';

export type Node = Readonly<Record<string, unknown>>;

export function matchPath(template: string, path: string): ReadonlyMap<string, string> | undefined {
  const names: string[] = [];
  const source = template
    .split(/(\{[^{}]+\})/)
    .map((part) => {
      if (!/^\{.*\}$/.test(part)) return encodeURI(decodeURI(part)).replace(/[$()*+.?[\\\]^{|}]/g, '\\$&');
      names.push(part.slice(1, -1));
      return '([^/]*?)';
    })
    .join('');
  const found = new RegExp(`^${source}$`).exec(path);
  return found === null ? undefined : new Map(names.map((name, at) => [name, found[at + 1]!]));
}

export function fromPath(name: string, text: string | undefined, object: boolean, array: boolean, how: Node): unknown {
  if (text === undefined || text === '') return undefined;
  if (how.style === 'label') {
    const separator = how.explode === true ? '.' : ',';
    return split(text.slice(1), separator, object, array, how.explode === true, decodeURIComponent);
  }
  if (how.style === 'matrix') {
    const parts = text.slice(1).split(';');
    if (how.explode === true && array) return parts.map((part) => decodeURIComponent(part.slice(name.length + 1)));
    if (how.explode === true && object) return split(parts.join(','), ',', true, false, true, decodeURIComponent);
    return split(text.slice(name.length + 2), ',', object, array, false, decodeURIComponent);
  }
  return fromSimple(text, object, array, how, decodeURIComponent);
}

export function fromSimple(
  text: string,
  object: boolean,
  array: boolean,
  how: Node,
  toText: (text: string) => string,
): unknown {
  return split(text, String(how.separator ?? ','), object, array, how.explode === true, toText);
}

function split(
  text: string,
  separator: string,
  object: boolean,
  array: boolean,
  isPaired: boolean,
  toText: (text: string) => string,
): unknown {
  if (!array && !object) return toText(text);
  const parts = text.split(separator);
  if (array) return parts.map(toText);
  const flat = isPaired ? parts.flatMap((part) => part.split(/=(.*)/s).slice(0, 2)) : parts;
  const entries = Array.from({ length: flat.length / 2 }, (_, at) => [
    toText(flat[at * 2]!),
    toText(flat[at * 2 + 1]!),
  ]);
  return Object.fromEntries(entries) as unknown;
}

const DELIMITERS: Readonly<Record<string, string>> = { spaceDelimited: '%20', pipeDelimited: '%7C', tab: '%09' };

export function fromQuery(
  name: string,
  pairs: readonly (readonly [string, string])[],
  used: Set<string>,
  object: boolean,
  array: boolean,
  how: Node,
): unknown {
  const style = String(how.style ?? 'form');
  const explode = how.explode === undefined ? style === 'form' : how.explode === true;
  if (style === 'deepObject') {
    const mine = pairs.filter(([key]) => decode(key) === name || decode(key).startsWith(`${name}[`));
    for (const [key] of mine) used.add(key);
    if (mine.length === 0) return undefined;
    return mine.length === 1 && decode(mine[0]![0]) === name ? decode(mine[0]![1]) : fromBrackets(mine);
  }
  if (object && !array && explode && how.style !== undefined) {
    const rest = pairs.filter(([key]) => !used.has(key));
    for (const [key] of rest) used.add(key);
    return rest.length === 0 ? undefined : Object.fromEntries(rest.map(([key, one]) => [decode(key), decode(one)]));
  }
  const mine = pairs.filter(([key]) => decode(key) === name);
  for (const [key] of mine) used.add(key);
  if (mine.length === 0) return undefined;
  if (array && explode) return mine.map(([, one]) => decode(one));
  const [, text] = mine[0]!;
  if (object && !array && how.style === undefined && how.explode === undefined)
    return JSON.parse(decode(text)) as unknown;
  return split(text, DELIMITERS[style] ?? ',', object && !array, array, false, decode);
}

// `a[b][]=1`, `a[0][c]=2` as qs and PHP read it.
function fromBrackets(pairs: readonly (readonly [string, string])[]): unknown {
  const root: Record<string, unknown> = {};
  for (const [key, text] of pairs) {
    const steps = [...decode(key).matchAll(/\[([^\]]*)\]/g)].map(([, step]) => step!);
    let here = root as Record<string, unknown>;
    for (const [at, step] of steps.entries()) {
      const own = step === '' ? String(Object.keys(here).length) : step;
      if (at === steps.length - 1) here[own] = decode(text);
      else {
        here[own] ??= {};
        here = here[own] as Record<string, unknown>;
      }
    }
  }
  return toLists(root);
}

function toLists(node: unknown): unknown {
  if (!isRecord(node)) return node;
  const keys = Object.keys(node);
  const values = keys.map((key) => toLists(node[key]));
  if (keys.length > 0 && keys.every((key, at) => key === String(at))) return values;
  return Object.fromEntries(keys.map((key, at) => [key, values[at]]));
}

export function decodeParts(body: Buffer, type: string, properties: Node, follow: (node: unknown) => Node): unknown {
  const boundary = /boundary=([^;]+)/.exec(type)?.[1] ?? '';
  const value: Record<string, unknown> = {};
  for (const part of body.toString('latin1').split(`--${boundary}`).slice(1, -1)) {
    const [head = '', ...rest] = part.slice(2).split('\r\n\r\n');
    const text = rest.join('\r\n\r\n').slice(0, -2);
    const name = /name="([^"]*)"/.exec(head)?.[1] ?? '';
    const isFile = /filename="/.test(head);
    const utf8 = Buffer.from(text, 'latin1').toString('utf8');
    const one = isFile
      ? Buffer.from(text, 'latin1').toString('base64')
      : /Content-Type: application\/json/i.test(head)
        ? (JSON.parse(utf8) as unknown)
        : utf8;
    if (isArray(follow(properties[name]), follow)) value[name] = [...listOf(value[name]), one];
    else value[name] = one;
  }
  return value;
}

export function toPair(text: string): [string, string] {
  const at = text.indexOf('=');
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const decode = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '));

export function isObject(node: Node, follow: (node: unknown) => Node): boolean {
  if (node.type !== undefined) return [node.type].flat().includes('object');
  return isRecord(node.properties) || combined(node).some((one) => isObject(follow(one), follow));
}

export function isArray(node: Node, follow: (node: unknown) => Node): boolean {
  if (node.type !== undefined) return [node.type].flat().includes('array');
  return isRecord(node.items) || combined(node).some((one) => isArray(follow(one), follow));
}

function combined(node: Node): readonly unknown[] {
  return ['allOf', 'anyOf', 'oneOf'].flatMap((key) => listOf(node[key]));
}
