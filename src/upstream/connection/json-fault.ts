// Describes why a value from a server is not acceptable JSON.

import { isToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import { formatBytes, quoteOutside } from '../../core/text.js';

/** Formats an error of `toJson` as a predicate, such as `is larger than 1 MiB` or `is invalid: /a is NaN`. */
export function describeJsonFault(error: unknown, maxBytes: number): string {
  if (!isToolError(error)) return 'is not JSON';
  if (error.code === 'too_large') return `is larger than ${formatBytes(maxBytes)}`;
  const { faults } = isRecord(error.data) ? error.data : {};
  const [fault] = (Array.isArray(faults) ? faults : []) as { readonly path: string; readonly got: string }[];
  if (fault === undefined) return 'is not JSON';
  return fault.path === '' ? fault.got : `is invalid: ${quoteOutside(fault.path)} ${fault.got}`;
}
