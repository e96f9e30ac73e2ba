// Keyboard shortcuts: `/` searches, `j` and `k` move, `r` runs, `a` approves.

import { type Panel, show, view } from './route.js';

type Move = (step: 1 | -1) => void;

const moves = new Map<Panel, Move>();

/** Calls a function when a person moves within a panel; the returned function stops it. */
export function onMove(panel: Panel, move: Move): () => void {
  moves.set(panel, move);
  return () => {
    if (moves.get(panel) === move) moves.delete(panel);
  };
}

/** Handles the keys of the whole page, except while something is typed. */
export function startKeys(): void {
  document.addEventListener('keydown', (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (key === 'Escape') {
      if (target instanceof HTMLElement) target.blur();
      return;
    }
    if (target instanceof HTMLElement && target.matches('input, textarea, select')) return;
    if (press(key, event.repeat)) event.preventDefault();
  });
}

function press(key: string, isRepeated: boolean): boolean {
  if (key === 'j' || key === 'k') {
    const { panel } = view.value;
    (moves.get(panel) ?? moves.get('tools'))?.(key === 'j' ? 1 : -1);
    return true;
  }
  // Holding a key must not approve or run what appears next.
  if (isRepeated) return false;
  if (key === '/') document.querySelector<HTMLElement>('[aria-keyshortcuts="/"]')?.focus();
  else if (key === 'r') click('[aria-keyshortcuts="r"]');
  else if (key === 'a') approve();
  else return false;
  return true;
}

// One key approves the plan that is shown, and nothing else.
function approve(): void {
  if (view.value.panel === 'inbox') click('[aria-keyshortcuts="a"]');
  else show({ panel: 'inbox' });
}

function click(selector: string): void {
  const button = document.querySelector<HTMLButtonElement>(selector);
  if (button !== null && !button.disabled) button.click();
}
