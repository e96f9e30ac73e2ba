// The environment variables that pass parameters to a script.

import { ToolError } from '../../core/error.js';
import type { Json, JsonObject } from '../../core/json.js';
import { variableName } from '../../core/name.js';

// Linux rejects a variable over 128 KiB, and an environment that is too long in total (SCR-11).
const MAX_VALUE_BYTES = 96 * 1024;
const MAX_TOTAL_BYTES = 512 * 1024;
const PREFIXES = ['WIELD', 'OCTOMIND'];

/** Returns `WIELD_PARAM_*`, `WIELD_TOOL_NAME`, `WIELD_WORKDIR`, and the same with the prefix OCTOMIND. */
export function scriptVariables(toolName: string, workdir: string, input: JsonObject): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const prefix of PREFIXES) {
    variables[`${prefix}_TOOL_NAME`] = toolName;
    variables[`${prefix}_WORKDIR`] = workdir;
    for (const [name, value] of fitting(input)) variables[`${prefix}_PARAM_${variableName(name)}`] = value;
  }
  return variables;
}

// Omits the largest values until the rest fits; stdin has all of them.
function fitting(input: JsonObject): [string, string][] {
  const sized = Object.entries(input)
    .map(([name, value]) => ({ name, text: naturalForm(name, value), bytes: 0 }))
    .map((entry) => ({ ...entry, bytes: Buffer.byteLength(entry.text) }))
    .filter((entry) => entry.bytes <= MAX_VALUE_BYTES)
    .sort((a, b) => a.bytes - b.bytes);
  let total = 0;
  return sized
    .filter((entry) => {
      total += entry.bytes * PREFIXES.length;
      return total <= MAX_TOTAL_BYTES;
    })
    .map(({ name, text }) => [name, text]);
}

function naturalForm(name: string, value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text.includes('\0')) {
    throw new ToolError('invalid_input', `${name} contains a NUL character, which no variable can hold`, {
      hint: 'leave it out',
      data: {
        faults: [{ kind: 'value', path: `/${name}`, expected: 'text without NUL', got: 'text with NUL' }],
      },
    });
  }
  return text;
}
