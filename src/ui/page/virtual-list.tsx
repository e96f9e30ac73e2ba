// A long list: only its visible rows are in the document, and Tab reaches one of them, so that it never blocks the way.

import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { onMove } from './keys.js';
import type { Panel } from './route.js';

interface ListProps<T> {
  /** `j` and `k` move in this list while the panel is shown. */
  readonly panel: Panel;
  readonly items: readonly T[];
  readonly keyOf: (item: T) => string;
  /** The item that is shown. */
  readonly current: T | undefined;
  readonly onShow: (item: T) => void;
  readonly rowHeight: number;
  readonly render: (item: T) => Row;
  /** Shown if there are no items. */
  readonly children: ComponentChildren;
}

export interface Row {
  readonly class: string;
  readonly title?: string | undefined;
  /** Of a tree, from 0. */
  readonly depth?: number;
  readonly children: ComponentChildren;
}

export function VirtualList<T>(props: ListProps<T>) {
  const { panel, items, keyOf, current, onShow, rowHeight, render, children } = props;
  const { scroller, from, to } = useVisibleRows(rowHeight);
  const rows = items.slice(from, to);
  const shown = current === undefined ? -1 : items.indexOf(current);
  useEffect(() =>
    onMove(panel, (step) => {
      const index = shown < 0 ? (step > 0 ? 0 : items.length - 1) : shown + step;
      const next = items[Math.max(0, Math.min(items.length - 1, index))];
      if (next !== undefined) onShow(next);
    }),
  );
  useEffect(() => {
    const { scrollTop = 0, clientHeight = 0 } = scroller.current ?? {};
    const top = shown * rowHeight;
    // As little as needed.
    const next = Math.min(top, Math.max(scrollTop, top + rowHeight - clientHeight));
    if (shown >= 0 && next !== scrollTop) scroller.current!.scrollTop = next;
  }, [shown]);
  const reached = shown >= from && shown < to ? shown : from;
  return (
    <div ref={scroller} class="scroller">
      {items.length === 0 && children}
      <ul style={{ height: `${items.length * rowHeight}px` }} onKeyDown={moveFocus}>
        {rows.map((item, at) => {
          const index = from + at;
          const { class: name, title, depth = 0, children: content } = render(item);
          return (
            <li
              key={keyOf(item)}
              style={{ transform: `translateY(${index * rowHeight}px)` }}
              aria-setsize={items.length}
              aria-posinset={index + 1}
            >
              <button
                type="button"
                class={`item ${name}`}
                style={{ paddingLeft: `${12 + Math.min(depth, 6) * 16}px` }}
                tabIndex={index === reached ? 0 : -1}
                aria-current={index === shown ? 'true' : undefined}
                title={title}
                onClick={() => onShow(item)}
              >
                {content}
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function moveFocus(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  if (step === 0) return;
  event.preventDefault();
  const buttons = [...event.currentTarget.querySelectorAll('button')];
  buttons[buttons.indexOf(event.target as HTMLButtonElement) + step]?.focus();
}

// Above and below the visible ones, so that the arrow keys find the next row.
const MORE_ROWS = 8;

/** Returns which rows can be seen; all have the same height. */
function useVisibleRows(rowHeight: number) {
  const scroller = useRef<HTMLDivElement>(null);
  // Shown before the first measurement.
  const [{ top, height }, measure] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const list = scroller.current!;
    const update = (): void => measure({ top: list.scrollTop, height: list.clientHeight });
    const observer = new ResizeObserver(update);
    observer.observe(list);
    list.addEventListener('scroll', update);
    return () => {
      observer.disconnect();
      list.removeEventListener('scroll', update);
    };
  }, []);
  const from = Math.max(0, Math.floor(top / rowHeight) - MORE_ROWS);
  return { scroller, from, to: Math.ceil((top + height) / rowHeight) + MORE_ROWS };
}
