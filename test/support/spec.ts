// Ties a test to the statements of spec/ that it proves; the gate reads these calls.

import { test } from 'vitest';

/** A test that proves one or more statements: `spec('SCR-7', 'a starred parameter is required', fn)`. */
export function spec(ids: string, title: string, body: () => void | Promise<void>, timeoutMs?: number): void {
  test(`${ids}: ${title}`, timeoutMs === undefined ? {} : { timeout: timeoutMs }, body);
}

/** The same where the machine may lack what is needed; a skipped one proves nothing to the gate. */
export function specIf(
  condition: boolean,
  reason: string,
  ids: string,
  title: string,
  body: () => void | Promise<void>,
  timeoutMs?: number,
): void {
  const name = `${ids}: ${title}${condition ? '' : ` (skipped: ${reason})`}`;
  test.skipIf(!condition)(name, timeoutMs === undefined ? {} : { timeout: timeoutMs }, body);
}
