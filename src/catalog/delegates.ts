// Follows delegates: a tool that calls another one has the input of that one. Cycles are rejected.

import { ToolError } from '../core/error.js';
import type { Origin } from '../core/origin.js';
import { type Problem, problemOf } from '../core/problem.js';
import type { Skill } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import { anchorRef } from '../files/anchor.js';
import { pathOf } from './listing.js';

/** `seek` returns the tool of a reference without following delegates, or undefined. */
export function createDelegates(seek: (ref: string, snapshot: Snapshot) => Tool | undefined) {
  const completed = new WeakMap<Tool, { readonly chain: readonly Tool[]; readonly tool: Tool }>();

  const follow = (tool: Tool, snapshot: Snapshot): Tool[] => {
    const chain = [tool];
    for (let here = tool; here.action.kind === 'delegate'; ) {
      const { ref } = here.action;
      const next = seek(anchorRef(ref, here.origin.directory), snapshot);
      if (next === undefined) throw missing(here, ref);
      const seen = chain.findIndex((other) => isSameTool(other, next));
      chain.push(next);
      if (seen !== -1) throw cycle(chain.slice(seen));
      here = next;
    }
    return chain;
  };

  /**
   * Returns a tool with the schemas of its delegate; other tools are returned unchanged. Returns the same object until
   * one of the tools changes. Throws `invalid_ref` if the delegate is missing or in a cycle (RES-15).
   */
  const complete = (tool: Tool, snapshot: Snapshot): Tool => {
    if (tool.action.kind !== 'delegate') return tool;
    const chain = follow(tool, snapshot);
    const known = completed.get(tool);
    if (known?.chain.length === chain.length && known.chain.every((entry, at) => entry === chain[at]))
      return known.tool;
    const described = chain.find(({ action }) => action.kind !== 'delegate' || action.ownInput)!;
    const made: Tool = {
      ...tool,
      input: described.input,
      output: chain[chain.length - 1]!.output ?? tool.output,
    };
    completed.set(tool, { chain, tool: made });
    return made;
  };

  return {
    complete,
    /** Completes the tools of a listing. A tool whose delegate is missing becomes a problem; `broken` are their origins. */
    completeAll(tools: readonly Tool[], skills: readonly Skill[], snapshot: Snapshot) {
      // By the names of skills, because reading the action of a tool of a shipped index reads its file.
      const delegating = new Set(skills.filter(({ delegate }) => delegate !== null).map(({ name }) => name));
      const problems: Problem[] = [];
      const broken: Origin[] = [];
      if (delegating.size === 0) return { tools, problems, broken };
      const listed = tools.flatMap((tool) => {
        if (!delegating.has(tool.name)) return [tool];
        try {
          return [complete(tool, snapshot)];
        } catch (error) {
          problems.push(problemOf(error, pathOf(tool)));
          broken.push(tool.origin);
          return [];
        }
      });
      return { tools: listed, problems, broken };
    },
  };
}

// A file that was read again gives a different object for the same tool.
function isSameTool(a: Tool, b: Tool): boolean {
  return a === b || (a.name === b.name && a.origin.uri !== null && a.origin.uri === b.origin.uri);
}

function missing(tool: Tool, ref: string): ToolError {
  return new ToolError('invalid_ref', `${tool.name} delegates to "${ref}", which does not exist`, {
    hint: 'use the name of a tool that `wield list --all` shows',
    data: { ref },
  });
}

function cycle(chain: readonly Tool[]): ToolError {
  const names = chain.map(({ name }) => name);
  return new ToolError('invalid_ref', `delegates form a cycle: ${names.join(' → ')}`, {
    hint: 'let one of them delegate to another tool, or to none',
    data: { circle: names },
  });
}
