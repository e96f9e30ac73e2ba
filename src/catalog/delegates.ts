// Follows delegates: a tool that calls another in its place takes the other's input, and never leads back to itself.

import { ToolError } from '../core/error.js';
import type { Tool } from '../core/tool.js';
import { anchorRef } from '../files/anchor.js';

export interface Delegates {
  /**
   * The tool with what it has from its delegate; the same object while neither changes, and any other tool as it
   * is. Throws `invalid_ref` where the delegate is not there or leads back (RES-15).
   */
  complete(tool: Tool): Tool;
}

/** `seek` gives the tool of a reference as it stands, or undefined where there is none. */
export function createDelegates(seek: (ref: string) => Tool | undefined): Delegates {
  const completed = new WeakMap<Tool, { readonly way: readonly Tool[]; readonly tool: Tool }>();

  const follow = (tool: Tool): Tool[] => {
    const way = [tool];
    for (let here = tool; here.action.kind === 'delegate'; ) {
      const { ref } = here.action;
      const next = seek(anchorRef(ref, here.origin.directory));
      if (next === undefined) throw missing(here, ref);
      const seen = way.findIndex((other) => isSame(other, next));
      way.push(next);
      if (seen !== -1) throw circle(way.slice(seen));
      here = next;
    }
    return way;
  };

  return {
    complete(tool) {
      if (tool.action.kind !== 'delegate') return tool;
      const way = follow(tool);
      const known = completed.get(tool);
      if (known?.way.length === way.length && known.way.every((step, at) => step === way[at]))
        return known.tool;
      const describing = way.find(({ action }) => action.kind !== 'delegate' || action.ownInput)!;
      const { output } = way[way.length - 1]!;
      const made: Tool = { ...tool, input: describing.input, ...(output === undefined ? {} : { output }) };
      completed.set(tool, { way, tool: made });
      return made;
    },
  };
}

// A file that was read again gives another object of the same tool.
function isSame(a: Tool, b: Tool): boolean {
  return a === b || (a.name === b.name && a.origin.uri !== null && a.origin.uri === b.origin.uri);
}

function missing(tool: Tool, ref: string): ToolError {
  return new ToolError('invalid_ref', `${tool.name} delegates to "${ref}", which does not exist`, {
    hint: 'name a tool that `wield list --all` shows',
    data: { ref },
  });
}

function circle(way: readonly Tool[]): ToolError {
  const names = way.map(({ name }) => name);
  return new ToolError('invalid_ref', `delegates lead back to where they began: ${names.join(' → ')}`, {
    hint: 'let one of them answer itself, or name another tool',
    data: { circle: names },
  });
}
