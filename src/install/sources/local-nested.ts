// Which local directories and addresses a source may name as nested sources.

import { dirname } from 'node:path';
import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { findCheckout } from '../../files/home.js';
import { isWithin } from '../../files/within.js';
import { classifyHost, isWithinReach } from '../../net/address.js';
import type { SourceRecord } from '../state.js';
import { hideUser, hostOf, isWebLocation, protocolOf, type SourceLocation } from './location.js';

/**
 * Only the source that a person named may be local: a nested one is fetched over the network, and is no nearer to this
 * machine than the one that names it (INS-77). A local directory may also name directories next to it and in its own
 * repository (INS-39).
 */
export function assertNested({ kind, location }: SourceLocation, parent: SourceRecord): void {
  const isLocal = kind === 'bundle' ? !isWebLocation(location) : kind === 'local' || protocolOf(location) === 'file';
  if (!isLocal) {
    assertFar(location, parent);
    return;
  }
  if (kind === 'local' && parent.kind === 'local') {
    const checkout = findCheckout(parent.location);
    if (isWithin(parent.location, location) || dirname(location) === dirname(parent.location)) return;
    if (checkout !== undefined && checkout !== location && isWithin(checkout, location)) return;
  }
  throw new ToolError('path_escape', `${parent.id} names a local nested source: ${quoteOutside(location, 120)}`, {
    hint: 'a nested source must be a repository on the network, or a directory next to the local one; add it yourself: wield add DIR',
  });
}

// Otherwise any repository could let this machine send requests to services of its network.
function assertFar(location: string, parent: SourceRecord): void {
  const host = hostOf(location);
  const own = hostOf(parent.location);
  const reach = own === undefined ? 'loopback' : classifyHost(own).class;
  const found = classifyHost(host ?? '');
  if (reach !== 'forbidden' && isWithinReach(found.class, reach)) return;
  throw new ToolError(
    'path_escape',
    `${parent.id} names a nested source at ${found.label}: ${quoteOutside(hideUser(location), 120)}`,
    { hint: 'if it is yours, add it yourself: wield add URL' },
  );
}
