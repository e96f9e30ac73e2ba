// A hook that returns the visible rows of a long list.

import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
} from '@tanstack/virtual-core';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface VirtualRows {
  readonly scroller: { current: HTMLDivElement | null };
  readonly rows: readonly VirtualItem[];
  readonly height: number;
  readonly scrollTo: (index: number) => void;
}

/** Returns the rows to render, all of one height. */
export function useVirtualRows(count: number, rowHeight: number): VirtualRows {
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
  return {
    scroller,
    rows: virtualizer.getVirtualItems(),
    height: virtualizer.getTotalSize(),
    scrollTo: (index) => virtualizer.scrollToIndex(index),
  };
}
