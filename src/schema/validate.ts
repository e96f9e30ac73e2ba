// Checks values against a JSON Schema; the one importer of the validator.

import { type OutputUnit, Validator } from '@cfworker/json-schema';
import { describeValue, isRecord, type Json } from '../core/json.js';
import type { Check, Fault, JsonSchema } from '../core/schema.js';
import { explain } from './explain.js';

// A `pattern` can backtrack for hours on a few characters; checking gets this long (TOOL-4).
const PATTERN_TIMEOUT_MS = 250;

export interface CheckOptions {
  /** Refuse properties that the root does not declare. */
  readonly closed: boolean;
  /** Whether a regular expression of the schema's author is tried on values. */
  readonly hasPattern: boolean;
}

export function createCheck(json: JsonSchema, { closed, hasPattern }: CheckOptions): (value: Json) => Check {
  // The validator writes marks into the schema it is given, and ours may be frozen, or somebody else's.
  const own = structuredClone(closed ? closeRoot(json) : json);
  const validator = new Validator(own, '2020-12', false);
  return (value) => {
    const result = hasPattern ? validateWithin(validator, value) : validator.validate(value);
    if (result === undefined) return { ok: false, faults: [tooSlow(value)] };
    return result.valid ? { ok: true, value } : { ok: false, faults: explain(result.errors, json, value) };
  };
}

/** The schema that is enforced: undeclared properties are refused unless the root speaks of them itself (RUN-3). */
function closeRoot(json: JsonSchema): JsonSchema {
  const speaks =
    'additionalProperties' in json || 'unevaluatedProperties' in json || !isRecord(json.properties);
  return speaks ? json : { ...json, unevaluatedProperties: false };
}

function tooSlow(value: Json): Fault {
  return {
    path: '',
    expected: `a value that the schema's patterns can be tried on within ${PATTERN_TIMEOUT_MS} ms`,
    got: describeValue(value),
  };
}

// The engine's own watchdog is the only thing that can stop a regular expression (one check costs 0.07 ms more).
function validateWithin(
  validator: Validator,
  value: Json,
): { valid: boolean; errors: OutputUnit[] } | undefined {
  const { runInThisContext } = process.getBuiltinModule('node:vm');
  const slot = Symbol.for('wield.check');
  const globals = globalThis as { [slot]?: (() => unknown) | undefined };
  const previous = globals[slot];
  globals[slot] = () => validator.validate(value);
  const began = process.cpuUsage();
  try {
    for (;;) {
      try {
        return runInThisContext('globalThis[Symbol.for("wield.check")]()', { timeout: PATTERN_TIMEOUT_MS });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
        // The watchdog's clock runs on while a busy machine lets us wait: only time that was worked counts.
        const { user, system } = process.cpuUsage(began);
        if (user + system >= PATTERN_TIMEOUT_MS * 1000) return undefined;
      }
    }
  } finally {
    globals[slot] = previous;
  }
}
