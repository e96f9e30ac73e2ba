// What the page shows, kept in the fragment of its address. A link can fill in a form; it never runs anything.

import { signal } from '@preact/signals';
import { orNothing } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import { decodeUri } from '../../core/text.js';
import { logIn } from './client.js';

export type Panel = 'tools' | 'inbox' | 'calls' | 'changes' | 'tokens' | 'servers' | 'health';

export interface View {
  readonly panel: Panel;
  /** The tool, call or server that is shown. */
  readonly name?: string | undefined;
  /** Input to fill in. */
  readonly input?: Json | undefined;
}

export const PANELS: readonly Panel[] = ['tools', 'inbox', 'calls', 'changes', 'tokens', 'servers', 'health'];

export const view = signal<View>({ panel: 'tools' });

/** Takes the code out of the address, and follows the fragment from then on. */
export function startRouting(): void {
  takeCode();
  const follow = (): void => {
    // The whole address, pasted into a tab that shows the page.
    takeCode()?.then(() => location.reload());
    view.value = parseRoute(location.hash);
  };
  addEventListener('hashchange', follow);
  follow();
}

// UI-54: at once, so that it is not in the history for longer than it is valid.
function takeCode(): Promise<unknown> | undefined {
  const { hash } = location;
  const slash = hash.indexOf('/');
  const code = hash.slice(1, slash < 0 ? undefined : slash);
  if (code === '') return undefined;
  history.replaceState(null, '', slash < 0 ? '#/tools' : `#${hash.slice(slash)}`);
  return logIn(code);
}

/** Shows something else; the back button returns. */
export function show(next: View): void {
  const route = formatRoute(next);
  if (location.hash !== route) location.hash = route;
}

export function formatRoute({ panel, name, input }: View): string {
  const query = input === undefined ? '' : `?input=${encodeURIComponent(JSON.stringify(input))}`;
  return `#/${panel}${name === undefined ? '' : `/${encodeURIComponent(name)}`}${query}`;
}

/** Parses a fragment; anything unknown shows the tools. */
function parseRoute(hash: string): View {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split('?');
  const [first, ...rest] = path.split('/');
  const panel = PANELS.find((name) => name === first) ?? 'tools';
  const name = decodeUri(rest.join('/'));
  const input = parseInput(new URLSearchParams(query).get('input'));
  return { panel, name: name || undefined, input };
}

function parseInput(text: string | null): Json | undefined {
  return orNothing(() => (text === null ? undefined : JSON.parse(text)));
}
