// Validates numeric options of middleware.

import { ToolError } from '../../core/error.js';

/** Throws `invalid_definition` if a value is not a number or is out of range. */
export function assertAtLeast(what: string, numbers: Readonly<Record<string, number>>, least: number): void {
  for (const [name, value] of Object.entries(numbers)) {
    if (typeof value === 'number' && value >= least && value < 2 ** 31) continue;
    throw new ToolError('invalid_definition', `${name} of ${what} is ${value}`, {
      hint: `give a number from ${least} to ${2 ** 31 - 1}`,
    });
  }
}
