// Makes invisible characters visible in every text and label of the page, wherever it comes from.

import { type ComponentChildren, options } from 'preact';
import { revealHidden } from '../../core/text.js';

const LABELS = ['title', 'placeholder', 'alt', 'aria-label'];

/** Changes the texts of all elements when they are created, so that no component can forget it (UI-55). */
export function revealAllText(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    const props = vnode.props as Record<string, unknown>;
    if (props.children !== undefined) props.children = reveal(props.children as ComponentChildren);
    if (typeof vnode.type === 'string')
      for (const name of LABELS) if (typeof props[name] === 'string') props[name] = revealHidden(props[name]);
    before?.(vnode);
  };
}

function reveal(children: ComponentChildren): ComponentChildren {
  if (typeof children === 'string') return revealHidden(children);
  return Array.isArray(children) ? children.map(reveal) : children;
}
