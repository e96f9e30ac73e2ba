// Checks the numbers that middleware is made with.

import { ToolError } from '../../core/error.js';

/** Throws `invalid_definition` where one of the numbers is none, or too small. */
export function assertAtLeast(what: string, numbers: Readonly<Record<string, number>>, least: number): void {
  for (const [name, value] of Object.entries(numbers)) {
    if (typeof value === 'number' && value >= least && value < 2 ** 31) continue;
    throw new ToolError('invalid_definition', `${name} of ${what} is ${value}`, {
      hint: `give a number from ${least} to ${2 ** 31 - 1}`,
    });
  }
}
