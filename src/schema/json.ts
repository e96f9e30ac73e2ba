// JSON Schema as a Schema, and the one importer of the validator.

import { runInThisContext } from 'node:vm';
import { type OutputUnit, Validator } from '@cfworker/json-schema';
import { ToolError } from '../core/error.js';
import { describeValue, isRecord, type Json } from '../core/json.js';
import type { Check, Fault, JsonSchema, Schema } from '../core/schema.js';
import { explain } from './explain.js';

const MAX_SCHEMA_DEPTH = 64;
const MAX_SCHEMA_NODES = 20_000;
// A `pattern` can backtrack for hours on a few characters; checking gets this long (TOOL-4).
const PATTERN_TIMEOUT_MS = 250;

export interface JsonSchemaOptions {
  /** Refuse properties that the root does not declare, as RUN-3 says. On for input, off for output. */
  readonly closed?: boolean;
}

/**
 * A Schema from a JSON Schema document. The document is bounded and self-contained, else `invalid_definition`;
 * the validator is made at the first check.
 */
export function createJsonSchema(json: JsonSchema, options: JsonSchemaOptions = {}): Schema {
  const traits = inspectSchema(json);
  let validator: Validator | undefined;
  return {
    json,
    check(value: Json): Check {
      // A copy: the validator writes notes of its own into the schema it is given.
      validator ??= new Validator(
        structuredClone(options.closed === true ? closeRoot(json) : json),
        '2020-12',
        false,
      );
      const errors = traits.hasPattern ? validateWithin(validator, value) : validator.validate(value);
      if (errors === undefined) {
        return { ok: false, faults: [tooSlow(value)] };
      }
      return errors.valid ? { ok: true, value } : { ok: false, faults: explain(errors.errors, json, value) };
    },
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
  const slot = Symbol.for('wield.check');
  const globals = globalThis as { [slot]?: (() => unknown) | undefined };
  const previous = globals[slot];
  globals[slot] = () => validator.validate(value);
  try {
    return runInThisContext('globalThis[Symbol.for("wield.check")]()', { timeout: PATTERN_TIMEOUT_MS });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined;
    throw error;
  } finally {
    globals[slot] = previous;
  }
}

interface SchemaTraits {
  readonly hasPattern: boolean;
}

// Upstream schemas are untrusted: bounded in depth and size, no reference that leaves the document, and every
// regular expression compiles.
function inspectSchema(json: JsonSchema): SchemaTraits {
  if (!isRecord(json)) throw badSchema('', 'is not an object');
  let nodes = 0;
  let hasPattern = false;
  const walk = (node: unknown, path: string, depth: number): void => {
    if (depth > MAX_SCHEMA_DEPTH) throw badSchema(path, `is nested deeper than ${MAX_SCHEMA_DEPTH} levels`);
    if (++nodes > MAX_SCHEMA_NODES) throw badSchema('', `has more than ${MAX_SCHEMA_NODES} parts`);
    if (Array.isArray(node)) {
      node.forEach((child, index) => {
        walk(child, `${path}/${index}`, depth + 1);
      });
      return;
    }
    if (!isRecord(node)) return;
    for (const [key, child] of Object.entries(node)) {
      if (key === '__proto__') throw badSchema(path, 'has the key "__proto__"');
      const data = key === 'const' || key === 'enum' || key === 'default' || key === 'examples';
      if ((key === '$ref' || key === '$dynamicRef') && typeof child === 'string' && !child.startsWith('#')) {
        throw badSchema(`${path}/${key}`, `refers to "${child}", which is outside the schema`);
      }
      if (key === 'pattern' && typeof child === 'string') {
        hasPattern = true;
        assertPattern(child, `${path}/pattern`);
      }
      if (key === 'patternProperties' && isRecord(child)) {
        hasPattern = true;
        for (const pattern of Object.keys(child)) assertPattern(pattern, `${path}/patternProperties`);
      }
      if (!data) walk(child, `${path}/${key}`, depth + 1);
    }
  };
  walk(json, '', 0);
  return { hasPattern };
}

function assertPattern(pattern: string, path: string): void {
  try {
    new RegExp(pattern, 'u');
  } catch {
    throw badSchema(path, `"${pattern}" is not a regular expression`);
  }
}

function badSchema(path: string, problem: string): ToolError {
  return new ToolError('invalid_definition', `the schema${path === '' ? '' : ` at ${path}`} ${problem}`, {
    hint: 'give a JSON Schema (2020-12) whose references begin with "#"',
  });
}
