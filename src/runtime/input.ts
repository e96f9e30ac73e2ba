// The input of a call: repaired, then checked against the schema of the tool.

import { ToolError } from '../core/error.js';
import { describeFaults } from '../core/faults.js';
import { type Json, toJson } from '../core/json.js';
import type { Repair } from '../core/result.js';
import type { Settings } from '../core/settings.js';
import type { Tool } from '../core/tool.js';
import { repairInput } from './repair.js';

export interface RepairedInput {
  readonly input: Json;
  readonly repairs: readonly Repair[];
}

/** Converts input to JSON and, unless that is disabled, repairs it. Throws `invalid_input` if it is not JSON. */
export function readInput(tool: Tool, raw: unknown, { repair }: Pick<Settings, 'repair'>): RepairedInput {
  const input = toJson(raw);
  return repair ? repairInput(input, tool.input.json) : { input, repairs: [] };
}

/** Validates input and applies defaults. Throws `invalid_input`; with `hideFaults` without details of the schema. */
export async function checkInput(tool: Tool, input: Json, { hideFaults = false } = {}): Promise<Json> {
  const checked = await tool.input.check(input);
  if (checked.ok) return checked.value;
  if (!hideFaults) throw describeFaults(tool, checked.faults);
  throw new ToolError(
    'invalid_input',
    `${tool.name} changed since it was approved, and takes other input now`,
    {
      hint: `a person must look at it first: wield show ${tool.name}`,
    },
  );
}

/** Returns input for the record of a call that failed before its input was checked; undefined if it is not JSON. */
export function jsonOrNothing(raw: unknown): Json | undefined {
  try {
    return toJson(raw);
  } catch {
    return undefined;
  }
}
