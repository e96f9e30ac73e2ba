// Pins: the commit, branch or tag that a source is fetched at.

export interface Pin {
  /** `ref`: a tag or a branch, whichever exists. */
  readonly to: 'branch' | 'tag' | 'commit' | 'ref';
  readonly name: string;
}

/** Parses `branch=NAME`, `tag=NAME`, a full commit hash, or the name of a tag or branch. */
export function parsePin(value: string): Pin {
  const named = /^(branch|tag)=(.+)$/s.exec(value);
  if (named) return { to: named[1] as 'branch' | 'tag', name: named[2]! };
  return { to: /^[0-9a-f]{40}$/.test(value) ? 'commit' : 'ref', name: value };
}
