// Which tool comes before a new one of its name, so that the new one could not be called (RES-3).

import { quoteOutside } from '../core/text.js';
import { fromFileUri, isWithin } from '../files/within.js';
import type { NodeToolbox } from '../node.js';
import { shortPath } from './print.js';

/** Describes the tool that a name refers to if a file defines a tool of that name too; undefined if it is that of the file. */
export async function findTaken(toolbox: NodeToolbox, name: string, file: string): Promise<string | undefined> {
  const { places } = toolbox.state.snapshot();
  const rankOf = (path: string): number => {
    const at = places.findIndex(({ directory }) => isWithin(directory, path));
    return at === -1 ? places.length : at;
  };
  const { tools, denied, unlisted } = await toolbox.catalog.survey({ now: true });
  const found = [...tools, ...unlisted, ...denied.map(({ tool }) => tool)].find((tool) => tool.name === name);
  if (found === undefined) return undefined;
  const { builtin, directory, server, uri } = found.origin;
  // Those for tasks give way.
  if (builtin) return found.traits.group === 'task' ? undefined : 'a built-in tool';
  if (directory === null) return server === null ? 'another tool' : `a tool of the server ${quoteOutside(server, 60)}`;
  if (fromFileUri(uri) === file || rankOf(directory) > rankOf(file)) return undefined;
  return `a tool in ${shortPath(directory, toolbox)}`;
}
