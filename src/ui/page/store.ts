// The data of the page: fetched at the start, then kept current by the event stream.

import { batch, computed, signal } from '@preact/signals';
import type { ErrorValue } from '../../core/error.js';
import type { ApprovalItem, CallRow, Catalog, ChangedItem, PageEvent, RunningRow, Session } from '../api.js';
import { request, stream, toErrorValue } from './client.js';
import { notifyPending } from './notify.js';

// Of this directory, and of all others.
const MAX_CALLS = 500;
const RETRY_MS = 2000;

export type Viewer = 'model' | 'person';

export const session = signal<Session | undefined>(undefined);
export const catalog = signal<Catalog>({ items: [], problems: [] });
/** Whose catalog is shown. */
export const viewer = signal<Viewer>('model');
export const approvals = signal<readonly ApprovalItem[]>([]);
export const hasApprovals = signal(false);
export const calls = signal<readonly CallRow[]>([]);
export const running = signal<readonly RunningRow[]>([]);
/** Changes when a server does. */
export const serversVersion = signal(0);
export const changes = signal<readonly ChangedItem[]>([]);
/** Why there is no connection, if there is none. */
export const offline = signal<ErrorValue | undefined>(undefined);
export const isLoaded = signal(false);

export const pending = computed(() => approvals.value.filter(({ state }) => state === 'pending'));

/** Whether a call belongs to another directory. */
export function isElsewhere({ workdir }: Pick<CallRow, 'workdir'>): boolean {
  return workdir !== session.value?.workdir;
}

const LOCK = 'wield-events';
let retry: ReturnType<typeof setTimeout> | undefined;

// What the tab that follows the events tells the others.
type Told = PageEvent | { readonly type: 'offline'; readonly error: ErrorValue };

/**
 * Fetches everything and follows the events until the page is closed. A browser opens six connections to a server, so one
 * tab follows them and tells the others; when it is closed, the next one does (UI-75).
 */
export async function start(): Promise<void> {
  const others = new BroadcastChannel('wield');
  others.onmessage = ({ data }: MessageEvent<Told>) => take(data);
  // Also if another tab follows the events, which may be about to end.
  await take({ type: 'reset' });
  // Of the first tab everything is current; one that takes over may have missed something.
  await navigator.locks.request(LOCK, { ifAvailable: true }, (lock) => lock && follow(others, false));
  await navigator.locks.request(LOCK, () => follow(others, true));
}

// Holds the lock until the page is closed.
async function follow(others: BroadcastChannel, hasMissed: boolean): Promise<void> {
  let isDue = hasMissed;
  const tell = (told: Told): Promise<void> => {
    others.postMessage(told);
    return take(told);
  };
  for (;;) {
    try {
      for await (const event of stream('GET /api/events')) {
        if (event.type !== 'ready') await tell(event);
        else if (isDue) await tell({ type: 'reset' });
      }
      throw new Error('the stream ended');
    } catch (error) {
      isDue = true;
      await tell({ type: 'offline', error: toErrorValue(error) });
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function take(told: Told): Promise<void> {
  if (told.type === 'offline') {
    offline.value = told.error;
    return;
  }
  try {
    await apply(told);
  } catch (error) {
    offline.value = toErrorValue(error);
    // A tab that is not logged in hears when another one is.
    if (offline.value.code === 'denied') return;
    clearTimeout(retry);
    retry = setTimeout(() => take({ type: 'reset' }), RETRY_MS);
  }
}

async function loadAll(): Promise<void> {
  await loadCatalog();
  offline.value = undefined;
  // One that fails is fetched again with the next event.
  await Promise.allSettled([loadApprovals(), loadChanges(), loadCalls()]);
  serversVersion.value++;
}

/** Also loads whether the directory is trusted, which changes the catalog. */
export async function loadCatalog(): Promise<void> {
  const [about, shown] = await Promise.all([
    request('GET /api/session'),
    request('GET /api/catalog/:as', { params: [viewer.value] }),
  ]);
  batch(() => {
    session.value = about;
    catalog.value = shown;
    isLoaded.value = true;
  });
}

export async function loadApprovals(): Promise<void> {
  const known = new Set(pending.value.map(({ id }) => id));
  const { approvals: items } = await request('GET /api/approvals');
  batch(() => {
    approvals.value = items;
    hasApprovals.value = true;
  });
  notifyPending(pending.value.filter(({ id }) => !known.has(id)));
}

export async function loadChanges(): Promise<void> {
  changes.value = (await request('GET /api/changes')).changes;
}

async function loadCalls(): Promise<void> {
  const { calls: finished, running: now } = await request('GET /api/calls');
  batch(() => {
    calls.value = finished;
    running.value = now;
  });
}

async function apply(event: PageEvent): Promise<void> {
  switch (event.type) {
    case 'reset':
      await loadAll();
      break;
    case 'catalog':
      await Promise.all([loadCatalog(), loadChanges()]);
      break;
    case 'approvals':
      await loadApprovals();
      break;
    case 'servers':
      serversVersion.value++;
      break;
    case 'running':
      running.value = event.running;
      break;
    case 'call': {
      const { call } = event;
      const all = [...calls.value.filter(({ id }) => id !== call.id), call];
      const own = all.filter((one) => !isElsewhere(one));
      batch(() => {
        calls.value = [...all.filter(isElsewhere).slice(-MAX_CALLS), ...own.slice(-MAX_CALLS)];
        running.value = running.value.filter(({ id }) => id !== call.id);
      });
    }
  }
}
