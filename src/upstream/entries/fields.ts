// Reads the fields of a server's entry: texts with references, tables of them, selectors, durations, switches. Pure.

import { isToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import { parseSelectors } from '../../core/selector.js';
import { parseDuration, quoteOutside } from '../../core/text.js';
import { parseServerValue } from './value.js';

export type Fields = Readonly<Record<string, unknown>>;
/** Takes something that keeps an entry from being used; `steps` lead from the entry to the place. */
export type Wrong = (steps: readonly string[], message: string, hint: string) => void;
export type FieldReader = ReturnType<typeof createFieldReader>;

/** Reads the fields of an entry, each strictly; what is wrong is told and left out. */
export function createFieldReader(value: Fields, wrong: Wrong) {
  const given = (key: string): unknown => (Object.hasOwn(value, key) ? value[key] : undefined);
  const checked = (text: unknown, steps: readonly string[]): string | undefined => {
    if (typeof text !== 'string') {
      const isScalar = typeof text === 'number' || typeof text === 'boolean';
      wrong(steps, 'must be text', isScalar ? 'put it in quotes' : 'write text in quotes');
      return undefined;
    }
    if (text.includes('\u0000')) {
      wrong(steps, 'has a NUL character', 'remove it');
      return undefined;
    }
    if (steps[0] === 'headers' && /[\u0001-\u0008\u000a-\u001f\u007f]/.test(text)) {
      wrong(steps, 'has a control character, which no header can have', 'remove line breaks and the like');
      return undefined;
    }
    try {
      parseServerValue(text, steps[0]!);
      return text;
    } catch (error) {
      if (!isToolError(error)) throw error;
      wrong(steps, error.message, error.hint ?? '');
      return undefined;
    }
  };
  const tableOf = (key: string): Fields | undefined => {
    const table = given(key);
    if (table === undefined) return undefined;
    if (isRecord(table)) return table;
    wrong([key], 'must be an object of texts', `write "${key}": { "NAME": "value" }`);
    return undefined;
  };
  const texts = (key: string): string[] => {
    const list = given(key) ?? [];
    if (!Array.isArray(list)) {
      wrong([key], 'must be an array of text', `write "${key}": ["…"]`);
      return [];
    }
    return list.flatMap((entry: unknown, at) => checked(entry, [key, String(at)]) ?? []);
  };
  return {
    texts,
    text(key: string): string | undefined {
      const text = given(key);
      if (text === undefined) return undefined;
      if (typeof text === 'string' && text.trim() === '') {
        wrong([key], 'is empty', 'write it, or leave the field out');
        return undefined;
      }
      return checked(text, [key]);
    },
    table(key: string, findFault: (name: string) => string | undefined): Record<string, string> {
      return Object.fromEntries(
        Object.entries(tableOf(key) ?? {}).flatMap(([name, text]) => {
          const fault = findFault(name);
          if (fault !== undefined) wrong([key, name], fault, 'rename or remove it');
          const read = checked(text, [key, name]);
          return fault === undefined && read !== undefined ? [[name, read]] : [];
        }),
      );
    },
    oauth(): { clientId: string; clientSecret?: string; scope?: string } | undefined {
      const table = tableOf('oauth');
      if (table === undefined) return undefined;
      const fields = ['clientId', 'clientSecret', 'scope'];
      for (const key of Object.keys(table)) {
        if (!fields.includes(key))
          wrong(['oauth', key], 'is no field of oauth', `known are ${fields.join(', ')}`);
      }
      const [clientId, clientSecret, scope] = fields.map((key) =>
        table[key] === undefined ? undefined : checked(table[key], ['oauth', key]),
      );
      if (table.clientId === undefined) wrong(['oauth'], 'has no "clientId"', 'add it, or leave oauth out');
      if (clientId === undefined) return undefined;
      return {
        clientId,
        ...(clientSecret === undefined ? {} : { clientSecret }),
        ...(scope === undefined ? {} : { scope }),
      };
    },
    selectors(key: 'allow' | 'deny'): { allow?: readonly string[]; deny?: readonly string[] } {
      const source = given(key);
      if (source === undefined) return {};
      const list = typeof source === 'string' ? [source] : source;
      if (!Array.isArray(list) || list.some((text) => typeof text !== 'string')) {
        wrong([key], 'must be selectors, as text or an array of text', 'write "get_* list_*"');
        return {};
      }
      const fault = findSelectorFault(list as string[]);
      if (fault !== undefined) wrong([key], fault, 'name its tools, as in "get_* list_*"');
      return { [key]: list as string[] };
    },
    duration<Name extends string>(key: string, to: Name): { [Key in Name]?: number } {
      const text = given(key);
      if (text === undefined) return {};
      const duration =
        typeof text === 'string' || typeof text === 'number' ? parseDuration(String(text)) : undefined;
      if (duration === undefined)
        wrong([key], 'must be a duration such as "30s"', 'a bare number counts seconds');
      return duration === undefined ? {} : ({ [to]: duration } as { [Key in Name]?: number });
    },
    disabled(): { disabled?: true } {
      const states = (['disabled', 'enabled'] as const).flatMap((key) => {
        const flag = given(key);
        if (flag !== undefined && typeof flag !== 'boolean')
          wrong([key], 'must be true or false', 'write true or false');
        return typeof flag === 'boolean' ? [flag === (key === 'disabled')] : [];
      });
      if (states.includes(true) && states.includes(false))
        wrong(['enabled'], '"disabled" and "enabled" contradict each other', 'keep one of them');
      return states.includes(true) ? { disabled: true } : {};
    },
  };
}

// A tool is used or not whatever it is called with, and whether it may run is a matter of rules.
function findSelectorFault(texts: readonly string[]): string | undefined {
  try {
    const selectors = parseSelectors(texts);
    const odd = selectors.find(
      ({ policy, builtin, arguments: named }) => policy !== undefined || builtin || named.length > 0,
    );
    if (odd !== undefined)
      return `has "${quoteOutside(odd.text)}": arguments, directives and $names belong to rules`;
    return undefined;
  } catch (error) {
    if (!isToolError(error)) throw error;
    return `cannot be read: ${error.message}`;
  }
}
