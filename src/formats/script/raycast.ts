// The header of Raycast script commands: `@raycast.title`, `@raycast.description`, `@raycast.argument1` to `3`.

import { orNothing } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import { sanitize } from '../../core/text.js';
import { NO_TRAITS } from '../../core/tool.js';
import type { HeaderParameter } from './fields.js';
import type { ForeignHeader } from './header.js';

const LINE = /^\s*(?:#|\/\/|--)\s*@raycast\.(\w+)\s+(.*)$/;

/** Undefined if it is not a script command; a text says why it cannot be used. */
export function readRaycast(text: string): ForeignHeader | string | undefined {
  const values = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, key, value] = LINE.exec(line) ?? [];
    if (key !== undefined) values.set(key.toLowerCase(), value!.trim());
  }
  const title = values.get('title');
  if (title === undefined) return undefined;
  const parameters: HeaderParameter[] = [];
  const positions: { name: string; encoded: boolean }[] = [];
  for (const number of [1, 2, 3]) {
    const written = values.get(`argument${number}`);
    if (written === undefined) continue;
    const found = readArgument(written, number, parameters);
    if (found === undefined) return `has an argument${number} that is not valid JSON`;
    parameters.push(found.parameter);
    positions.push({ name: found.parameter.name, encoded: found.encoded });
  }
  const group = values.get('packagename');
  return {
    description: values.get('description') ?? title,
    parameters,
    needs: [],
    traits: {
      ...NO_TRAITS,
      tags: group === undefined ? [] : [group.toLowerCase().replace(/[^a-z0-9]+/g, '-')],
      destructive: values.get('needsconfirmation') === 'true' || undefined,
    },
    call: { kind: 'positions', positions },
  };
}

function readArgument(
  written: string,
  number: number,
  taken: readonly HeaderParameter[],
): { readonly parameter: HeaderParameter; readonly encoded: boolean } | undefined {
  const value = orNothing(() => JSON.parse(written) as unknown);
  if (!isRecord(value)) return undefined;
  const placeholder = typeof value.placeholder === 'string' ? value.placeholder : '';
  const word = placeholder
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');
  const isFree = /^[a-z]/.test(word) && word.length <= 40 && taken.every(({ name }) => name !== word);
  const choices = Array.isArray(value.data)
    ? value.data.flatMap((one) => (isRecord(one) ? [String(one.value)] : []))
    : [];
  return {
    parameter: {
      name: isFree ? word : `argument${number}`,
      required: value.optional !== true,
      type: 'string',
      keywords: choices.length > 0 ? { enum: choices } : {},
      description: sanitize(placeholder),
    },
    encoded: value.percentEncoded === true,
  };
}
