// Which local directories a source may name as nested sources.

import { dirname } from 'node:path';
import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { findCheckout } from '../../files/home.js';
import { isWithin } from '../../files/within.js';
import type { SourceRecord } from '../state.js';
import { isWebLocation, protocolOf, type SourceLocation } from './location.js';

/**
 * Only the source that a person named may be local: a nested one is fetched over the network. A local directory may also
 * name directories next to it and in its own repository (INS-39).
 */
export function assertNested({ kind, location }: SourceLocation, parent: SourceRecord): void {
  const isLocal = kind === 'bundle' ? !isWebLocation(location) : kind === 'local' || protocolOf(location) === 'file';
  if (!isLocal) return;
  if (kind === 'local' && parent.kind === 'local') {
    const checkout = findCheckout(parent.location);
    if (isWithin(parent.location, location) || dirname(location) === dirname(parent.location)) return;
    if (checkout !== undefined && checkout !== location && isWithin(checkout, location)) return;
  }
  throw new ToolError('path_escape', `${parent.id} names a local nested source: ${quoteOutside(location, 120)}`, {
    hint: 'a nested source must be a repository on the network, or a directory next to the local one; add it yourself: wield add DIR',
  });
}
