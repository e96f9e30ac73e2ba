// Keeps reads inside a directory: links that lead out of an untrusted workspace are not followed (RES-46).

import { readlinkSync, type Stats, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { orNothing } from '../core/error.js';
import type { Format, FormatSnapshot, Reading } from '../core/format.js';
import type { Boundary, Place } from '../core/origin.js';
import { type Problem, toProblem } from '../core/problem.js';
import { quoteOutside } from '../core/text.js';
import { canonicalPath, containedPath } from './contained-path.js';
import { isWithin, realPath } from './within.js';

const HINT = 'remove the link, or review the workspace, then run: wield trust';

/**
 * Returns the canonical path if it is inside the boundary, and the path itself if the boundary admits it; undefined if it
 * does not, or the path cannot be resolved.
 */
export function admittedPath(path: string, boundary: Boundary | undefined): string | undefined {
  if (boundary === undefined) return path;
  const inside = contained(path, boundary);
  if (inside !== undefined || canonicalPath(path, sep) === undefined) return inside;
  return boundary.admits(path) ? path : undefined;
}

/** Like `admittedPath`, for an open file: a link that is exchanged after it was opened makes no difference. */
export function isDescriptorAdmitted(descriptor: number, path: string, stats: Stats, boundary: Boundary): boolean {
  const real = orNothing(() => readlinkSync(`/proc/self/fd/${descriptor}`)) ?? pathOfFile(path, stats);
  const isInside = (directory: string | undefined): boolean =>
    real !== undefined && directory !== undefined && isWithin(directory, real);
  // The directory is rarely a link itself.
  return isInside(boundary.directory) || isInside(realPath(boundary.directory)) || boundary.admits(path);
}

/** Returns a problem for a path outside the boundary. It names the link that leads out, if there is one. */
export function toDeparture(path: string, boundary: Boundary): Problem {
  const link = findLinkOut(path, boundary);
  const target = link === undefined ? undefined : (canonicalPath(link, sep) ?? 'itself');
  const what = target === undefined ? 'is' : `is a link to ${quoteOutside(target, 200)},`;
  const message = `${what} outside the workspace, which is not trusted, so it is not read`;
  return toProblem(link ?? path, 'error', { message, hint: HINT });
}

/** Wraps a boundary to record the files outside, and which of them were refused. */
export function traceBoundary({ directory, admits }: Boundary) {
  const refused: string[] = [];
  let leaves = false;
  return {
    boundary: {
      directory,
      admits(path: string): boolean {
        leaves = true;
        const isAdmitted = admits(path);
        if (!isAdmitted) refused.push(path);
        return isAdmitted;
      },
    },
    refused,
    /** Whether any file was outside: what was read is valid only while the trust does not change. */
    get leaves(): boolean {
      return leaves;
    },
  };
}

export interface EntryWithin {
  readonly reading: Reading | undefined;
  /** Whether any of its files is outside the boundary. */
  readonly leaves: boolean;
}

/** Reads an entry of a place. If a file of it is outside the boundary, the entry is a problem and nothing else. */
export function readWithin(format: Format, entry: string, place: Place, snapshot?: FormatSnapshot): EntryWithin {
  if (place.boundary === undefined) return { reading: format.read(entry, place, snapshot), leaves: false };
  const trace = traceBoundary(place.boundary);
  const reading = format.read(entry, { ...place, boundary: trace.boundary }, snapshot);
  const [refused] = trace.refused;
  if (refused === undefined) return { reading, leaves: trace.leaves };
  const problems = [toDeparture(refused, place.boundary)];
  return { reading: { tools: [], problems, states: [undefined], unread: true }, leaves: true };
}

function contained(path: string, { directory }: Boundary): string | undefined {
  return containedPath(path, { base: sep, roots: [directory] });
}

// Returns the first part of the path that is a link out.
function findLinkOut(path: string, boundary: Boundary): string | undefined {
  if (!isWithin(boundary.directory, path)) return undefined;
  let current = boundary.directory;
  for (const component of relative(boundary.directory, path).split(sep)) {
    current = join(current, component);
    if (contained(current, boundary) === undefined) return current;
  }
  return undefined;
}

// Where descriptors have no path: the path is that of the open file only if it still leads to it.
function pathOfFile(path: string, { dev, ino }: Stats): string | undefined {
  const real = realPath(path);
  const stats = real === undefined ? undefined : statSync(real, { throwIfNoEntry: false });
  return stats?.dev === dev && stats.ino === ino ? real : undefined;
}
