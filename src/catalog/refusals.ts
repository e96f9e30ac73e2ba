// Errors for references that no tool matches, with hints: similar names, searched places, what to pick.

import { basename, dirname, extname, isAbsolute, join } from 'node:path';
import { ToolError } from '../core/error.js';
import type { Place } from '../core/origin.js';
import { formatPosition, OF_INSTALLED_TOOL, type Problem } from '../core/problem.js';
import { count, nearest, quoteOutside, shortenPath } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { entriesOf } from '../files/list.js';

const MAX_BROKEN = 3;

interface Reach {
  readonly snapshot: { readonly workdir: string };
  /** Set for models. */
  readonly offeredOnly?: boolean;
}

export interface Searched {
  readonly places: readonly Place[];
  /** The problems of the listing. */
  readonly problems: readonly Problem[];
  readonly workdir: string;
}

/** Returns the error for an unknown name, with the nearest ones (ERR-3, RES-11). `where` is undefined for a model, which learns no paths. */
export function notFound(name: string, tools: readonly Tool[], where: Searched | undefined): ToolError {
  const close = nearest(
    name,
    tools.filter((tool) => !tool.traits.hidden).map((tool) => tool.name),
  );
  const searched = where?.places.map((place) => place.directory) ?? [];
  const broken = where === undefined ? [] : findBroken(name, where).map((problem) => describe(problem, where.workdir));
  // Paths outside the workspace, which `wield check` does not read, are absolute.
  const all = broken.some((one) => isAbsolute(one)) ? 'wield doctor' : 'wield check';
  const dotted = where && findDotted(name, where);
  const unread = tools.filter(({ action }) => action.kind === 'module' && action.export === null).length;
  const hint =
    unread > 0
      ? `${count(unread, 'module')} of this workspace ${unread === 1 ? 'was' : 'were'} not read; review the workspace, then run: wield trust`
      : dotted !== undefined
        ? `${dotted} is not a tool: rename it to "${name}", and write # @description below its first line`
        : close.length > 0
          ? `did you mean ${close.join(', ')}? wield list shows all`
          : broken.length > 0
            ? `not loaded: ${broken.join('\n')}\n${all} shows all problems`
            : where === undefined
              ? 'use a tool of the list; a person can see all with: wield list'
              : searched.length > 0
                ? `wield list shows all tools; searched ${searched.map((path) => shortenPath(path, where.workdir, undefined)).join(', ')}`
                : 'only tools that were passed to createToolbox, or recorded, are here';
  return new ToolError('not_found', `tool not found: ${name}`, {
    hint,
    data: { nearest: close, ...(where === undefined ? {} : { searched }) },
  });
}

// RES-64: a script that was copied with its extension, and has no header, is not reported otherwise.
function findDotted(name: string, { places, problems, workdir }: Searched): string | undefined {
  const files = places
    .filter(({ kind }) => kind === 'tools')
    .flatMap(({ directory }) => entriesOf(directory).map((entry) => ({ entry, path: join(directory, entry.name) })));
  const found = files.find(
    ({ entry, path }) =>
      entry.isFile() &&
      /^\.(?:sh|bash|zsh|py|rb|pl|js|mjs)$/.test(extname(path)) &&
      basename(path, extname(path)) === name &&
      !problems.some((problem) => problem.path === path),
  );
  return found && shortenPath(found.path, workdir, undefined);
}

// Only a file itself knows its tools, so any broken one may define the tool, but a script, which is named after its tool,
// and an installed tool of another name (RES-47). Those in a directory that the name starts with come first.
function findBroken(name: string, { problems, places }: Searched): readonly Problem[] {
  const isScript = (path: string): boolean =>
    !basename(path).includes('.') &&
    places.some(({ kind, directory }) => kind === 'tools' && dirname(path) === directory);
  const isLikely = ({ path }: Problem): boolean =>
    path.split('/').some((step) => step.length > 1 && name.startsWith(step));
  const broken = problems.filter(
    (problem) =>
      problem.severity === 'error' &&
      !isScript(problem.path) &&
      (problem.kind !== OF_INSTALLED_TOOL || isLikely(problem)),
  );
  return [...broken.filter(isLikely), ...broken.filter((problem) => !isLikely(problem))].slice(0, MAX_BROKEN);
}

/** Returns the error of a file with that name, such as a script with an extension. */
export function findBrokenFile(name: string, problems: readonly Problem[]): Problem | undefined {
  return problems.find(({ severity, path }) => severity === 'error' && basename(path) === name);
}

/** Returns the error of a file of tools that has that name but for its extension, such as `NAME.sh` (RES-47). */
export function findOwnFile(name: string, problems: readonly Problem[], places: readonly Place[]): Problem | undefined {
  return problems.find(
    ({ severity, path }) =>
      severity === 'error' &&
      basename(path).split('.', 1)[0] === name &&
      places.some(({ kind, directory }) => kind === 'tools' && dirname(path) === directory),
  );
}

/** Something has that name or path, but is not a usable tool. */
export function notUsable(shown: string, problem: Problem, { snapshot, offeredOnly: isModel }: Reach): ToolError {
  const { workdir } = snapshot;
  // Neither the path nor the text of a broken file is sent to a model.
  if (isModel) {
    return new ToolError('not_found', `${shown} is not a tool: its file is invalid`, {
      hint: 'a person can see why with: wield check',
    });
  }
  // A path is named once.
  const [what, why] =
    shown === problem.path ? [positionOf(problem, workdir), problem.message] : [shown, describe(problem, workdir)];
  return new ToolError('not_found', `${what} is not a tool: ${why}`, {
    hint: problem.hint,
    data: { path: problem.path },
  });
}

function describe(problem: Problem, workdir: string): string {
  return `${positionOf(problem, workdir)} ${problem.message}`;
}

function positionOf(problem: Problem, workdir: string): string {
  return formatPosition(shortenPath(problem.path, workdir, undefined), problem);
}

/** What is at a path, for people; a model is not told. */
export type AtPath = 'nothing' | 'file' | 'directory';

const WHY: Readonly<Record<AtPath, readonly [what: string, hint: string]>> = {
  nothing: [': the file does not exist', 'check the path; wield list shows all tools'],
  file: [
    ': the file is not one of a tool',
    'a script needs a line # @description below its shebang, and a name without a dot',
  ],
  directory: [': it is a directory without SKILL.md', 'use the path of a script, a skill or a tools.json'],
};

/** No tool is at a URI or path; `names` are tools that a fragment could pick there. */
export function nothingAt(ref: string, names: readonly string[], at?: AtPath): ToolError {
  const shown = quoteOutside(ref, 200);
  const before = ref.slice(0, Math.max(0, ref.lastIndexOf('#')));
  const [why, hint] =
    at === undefined ? ['', 'use the path of a script, a skill or a tools.json; wield list shows all tools'] : WHY[at];
  return new ToolError('not_found', `no tool at "${shown}"${why}`, {
    hint: names.length > 0 ? `it has ${names.join(', ')}; write ${before}#${names[0]}` : hint,
    data: { ref: shown, names },
  });
}

/** Returns the error for a name that several tools have (RES-2). */
export function ambiguous(ref: string, names: readonly string[]): ToolError {
  return new ToolError('ambiguous', `"${quoteOutside(ref, 200)}" has ${names.length} tools`, {
    hint: `use one of ${names
      .slice(0, 5)
      .map((name) => `${quoteOutside(ref, 200)}#${name}`)
      .join(', ')}`,
    data: { names },
  });
}

export function invalidName(name: string): ToolError {
  return new ToolError('invalid_ref', `"${quoteOutside(name, 80)}" is not a tool name`, {
    hint: 'use a name that `wield list` shows, or the path of a file',
  });
}
