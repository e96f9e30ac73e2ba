// Browser notifications about calls that wait for approval.

import { signal } from '@preact/signals';
import { spellOut } from '../../core/text.js';
import type { ApprovalItem } from '../api.js';

export const permission = signal('Notification' in globalThis ? Notification.permission : 'denied');

export async function askPermission(): Promise<void> {
  permission.value = await Notification.requestPermission();
}

/** Notifies about new pending calls, unless the page is visible. */
export function notifyPending(items: readonly ApprovalItem[]): void {
  if (permission.value !== 'granted' || document.visibilityState === 'visible') return;
  for (const { id, tool, caller } of items)
    new Notification(`${spellOut(tool)} waits for approval`, { body: spellOut(caller.name), tag: id });
}
