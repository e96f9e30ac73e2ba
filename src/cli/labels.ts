// Describes a label of a session at the command line.

import type { EnteredLabel } from '../core/label.js';
import { quoteOutside } from '../core/text.js';

/** Returns `untrusted from fetch_page, 2026-11-18 10:32Z`. */
export function describeLabel({ label, tool, at }: EnteredLabel): string {
  const time = new Date(at).toISOString().slice(0, 16).replace('T', ' ');
  return `${label} from ${quoteOutside(tool, 64)}, ${time}Z`;
}
