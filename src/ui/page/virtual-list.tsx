// A long list: only its visible rows are in the document, and Tab reaches one of them, so that it never blocks the way.

import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
} from '@tanstack/virtual-core';
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
  const { scroller, rows, height, scrollTo } = useVirtualRows(items.length, rowHeight);
  const shown = current === undefined ? -1 : items.indexOf(current);
  useEffect(() =>
    onMove(panel, (step) => {
      const index = shown < 0 ? (step > 0 ? 0 : items.length - 1) : shown + step;
      const next = items[Math.max(0, Math.min(items.length - 1, index))];
      if (next !== undefined) onShow(next);
    }),
  );
  useEffect(() => {
    if (shown >= 0) scrollTo(shown);
  }, [shown]);
  const reached = rows.some(({ index }) => index === shown) ? shown : rows[0]?.index;
  return (
    <div ref={scroller} class="scroller">
      {items.length === 0 && children}
      <ul style={{ height: `${height}px` }} onKeyDown={moveFocus}>
        {rows.map(({ index, start }) => {
          const item = items[index]!;
          const { class: name, title, depth = 0, children: content } = render(item);
          return (
            <li
              key={keyOf(item)}
              style={{ transform: `translateY(${start}px)` }}
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

function useVirtualRows(count: number, rowHeight: number) {
  const scroller = useRef<HTMLDivElement>(null);
  const [, render] = useState(0);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
    // Shown before the first measurement.
    initialRect: { width: 300, height: 800 },
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => render((value) => value + 1),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, HTMLElement>(options));
  virtualizer.setOptions(options);
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  const rows: readonly VirtualItem[] = virtualizer.getVirtualItems();
  const scrollTo = (index: number): void => virtualizer.scrollToIndex(index);
  return { scroller, rows, height: virtualizer.getTotalSize(), scrollTo };
}
