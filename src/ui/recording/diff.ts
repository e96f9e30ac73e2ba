// Compares two recordings call by call.

import { canonicalJson } from '../../core/json.js';
import { lineDiff } from '../../files/diff.js';
import type { RecordedCall } from '../api.js';
import type { Recording } from './recording.js';

export interface CallDifference {
  readonly tool: string;
  /** `only-a` and `only-b`: calls that the other recording does not have. */
  readonly kind: 'only-a' | 'only-b' | 'changed';
  readonly input: RecordedCall['input'];
  /** A line diff of the results. */
  readonly lines: readonly string[];
}

/** Returns the differences. Calls are matched by tool and input, repeated ones in order; times are ignored. */
export function diffRecordings(a: Recording, b: Recording): CallDifference[] {
  const rest = new Map<string, RecordedCall[]>();
  for (const call of b.calls) rest.set(keyOf(call), [...(rest.get(keyOf(call)) ?? []), call]);
  const found = a.calls.flatMap((call): CallDifference[] => {
    const other = rest.get(keyOf(call))?.shift();
    const { tool, input } = call;
    if (other === undefined) return [{ tool, kind: 'only-a', input, lines: [] }];
    const [before, after] = [describe(call), describe(other)];
    return before === after ? [] : [{ tool, kind: 'changed', input, lines: lineDiff(before, after) }];
  });
  const added = [...rest.values()]
    .flat()
    .map(({ tool, input }): CallDifference => ({ tool, kind: 'only-b', input, lines: [] }));
  return [...found, ...added];
}

function keyOf({ tool, input, parent }: RecordedCall): string {
  return `${tool} ${parent === null ? 0 : 1} ${canonicalJson(input)}`;
}

function describe({ verdict, result }: RecordedCall): string {
  const { ok, content, structured, error } = result;
  const text = content.map((part) => (part.type === 'text' ? part.text : JSON.stringify(part))).join('\n');
  const code = error === undefined ? [] : [`${error.code}: ${error.message}`];
  const data = structured === undefined ? [] : [JSON.stringify(structured, null, 2)];
  return [`${ok ? 'ok' : 'failed'}, ${verdict ?? 'not decided'}`, ...code, text, ...data].join('\n');
}
