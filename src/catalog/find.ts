// Finds the tool of a reference: a name, a path or a URI (RES-1, RES-2).

import { isToolName } from '../core/name.js';
import { parseRef, type UriRef } from '../core/ref.js';
import type { Tool } from '../core/tool.js';
import { createPathFinder, type FoundTool, type PathFinderOptions, pickTool, toFilePath } from './at-path.js';
import { createReach, type FindOptions, type ReachOptions } from './reach.js';
import { invalidName, notFound, nothingAt, notUsable } from './refusals.js';
import type { Views } from './views.js';

export interface FinderOptions extends ReachOptions, PathFinderOptions {
  readonly views: Pick<Views, 'of' | 'inOrder'>;
}

export interface Finder {
  /**
   * Returns the tool of a reference, without following delegates. Throws `not_found`, `ambiguous` or `invalid_ref`;
   * `near` returns the tools that a hint may suggest.
   */
  seek(ref: string, options: FindOptions, near?: () => readonly Tool[]): Tool;
}

export function createFinder(options: FinderOptions): Finder {
  const { registered, upstream, list, clean, views } = options;
  const reach = createReach(options);
  const paths = createPathFinder(options, reach);

  const findNamed = (name: string, within: FindOptions): Tool | undefined => {
    const found = registered.has(name) || isToolName(name) ? reach.lookUp(name, within.snapshot) : undefined;
    if (found === undefined) return undefined;
    if ('severity' in found) throw notUsable(name, found);
    return reach.isInReach(found, within) ? found : undefined;
  };

  // Tools that are part of another file have a URI made of their name, which works for shadowed tools too.
  const findInline = (uri: string, within: FindOptions): Tool | undefined => {
    const name = uri.replace(/^\w+:\/\//, '');
    if (!isToolName(name)) return undefined;
    for (const directory of views.inOrder(within.snapshot.places)) {
      const found = directory.find(name, within.snapshot);
      if (found === undefined || 'severity' in found || found.origin.uri !== uri) continue;
      const tool = clean(found);
      if (reach.mayReach(tool, within)) return tool;
    }
    return undefined;
  };

  const findByUri = (text: string, { uri, scheme, fragment }: UriRef, within: FindOptions): Tool => {
    const found = [...registered.values()]
      .filter(({ origin }) => origin.uri === uri || origin.uri === text)
      .map((tool): FoundTool => ({ tool: clean(tool), yields: false }))
      .filter(({ tool }) => reach.isInReach(tool, within));
    const exact = found.filter(({ tool }) => tool.origin.uri === text);
    const tool = exact.length === 1 ? exact[0]!.tool : pickTool(text, found, fragment);
    if (tool !== undefined) return tool;
    const remote = scheme === 'mcp' ? upstream?.at(text, within.snapshot) : undefined;
    if (remote !== undefined && reach.mayReach(clean(remote), within)) return clean(remote);
    if (scheme === 'file') return paths.find(text, toFilePath(uri), fragment, within);
    const inline = fragment === undefined ? findInline(uri, within) : undefined;
    if (inline === undefined) throw upstream?.why(text, within.snapshot) ?? nothingAt(text, []);
    return inline;
  };

  return {
    seek(text, within, near = () => list(within.snapshot).tools) {
      const ref = parseRef(text);
      if (ref.kind === 'path') return paths.find(text, ref.path, ref.fragment, within);
      if (ref.kind === 'uri') return findByUri(text, ref, within);
      const { name, fragment } = ref;
      const named = fragment === undefined ? findNamed(name, within) : undefined;
      if (named !== undefined) return named;
      // RES-1: a name that no tool has is tried as a file of the workdir.
      const tool = pickTool(text, paths.read(name, within).tools, fragment);
      if (tool !== undefined) return tool;
      const { mayName = () => true } = within;
      throw fragment === undefined && isToolName(name)
        ? (upstream?.why(name, within.snapshot) ??
            notFound(name, near().filter(mayName), within.snapshot.places))
        : invalidName(text);
    },
  };
}
