// Validates values against a JSON Schema with @cfworker/json-schema.

import { type OutputUnit, Validator } from '@cfworker/json-schema';
import { describeValue, isRecord, type Json } from '../core/json.js';
import type { Check, Fault, JsonSchema } from '../core/schema.js';
import { explain } from './explain.js';

// A `pattern` can backtrack for hours on a few characters, so validation has a time limit (TOOL-4).
const PATTERN_TIMEOUT_MS = 250;

export interface CheckOptions {
  /** Reject properties that the root does not declare. */
  readonly closed: boolean;
  /** Whether the schema contains regular expressions. */
  readonly hasPattern: boolean;
}

export function createCheck(json: JsonSchema, { closed, hasPattern }: CheckOptions): (value: Json) => Check {
  // The validator adds properties to its schema, which may be frozen or belong to the caller.
  const own = structuredClone(closed ? closeRoot(json) : json);
  const validator = new Validator(own, '2020-12', false);
  return (value) => {
    const result = hasPattern ? validateWithin(validator, value) : validator.validate(value);
    if (result === undefined) return { ok: false, faults: [tooSlow(value)] };
    return result.valid ? { ok: true, value } : { ok: false, faults: explain(result.errors, json, value) };
  };
}

/** Rejects undeclared properties unless the root schema allows or restricts them itself (RUN-3). */
function closeRoot(json: JsonSchema): JsonSchema {
  const isExplicit =
    'additionalProperties' in json || 'unevaluatedProperties' in json || !isRecord(json.properties);
  return isExplicit ? json : { ...json, unevaluatedProperties: false };
}

function tooSlow(value: Json): Fault {
  return {
    kind: 'value',
    path: '',
    expected: `a value that the schema's patterns can be matched against within ${PATTERN_TIMEOUT_MS} ms`,
    got: describeValue(value),
  };
}

// Only the watchdog of node:vm can stop a regular expression; it adds 0.07 ms to a check.
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
        // The watchdog measures wall time; on a busy machine, only CPU time counts.
        const { user, system } = process.cpuUsage(began);
        if (user + system >= PATTERN_TIMEOUT_MS * 1000) return undefined;
      }
    }
  } finally {
    globals[slot] = previous;
  }
}
