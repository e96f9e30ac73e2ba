// Parses the guards of a mapping: variables that a parameter may set, and values that it must not have.

import type { Deny, Resolver } from '../../core/command.js';
import { variableName } from '../../core/name.js';
import type { Report } from '../../core/strict-object.js';
import { quoteOutside } from '../../core/text.js';

/** Where a value is, and how its problems are reported. */
export interface ReadAt {
  readonly pointer: string;
  readonly report: Report;
}

// Variables that change which code runs, or where programs find things.
const POWERFUL =
  /^(?:LD|DYLD|PYTHON|PERL|GIT|NODE|NPM|RUBY|GEM|BUNDLE|CARGO|RUST|JAVA|JDK|GO|BASH|ZSH|GCONV|MALLOC|GLIBC|XDG|SSH|LUA|TCL|R|CURL|OPENSSL|WIELD|OCTOMIND|CHAI_HOME|NIX)_|^(?:PATH|HOME|SHELL|SHELLOPTS|BASHOPTS|ENV|IFS|PS[0-9]|PROMPT_COMMAND|CDPATH|EDITOR|VISUAL|PAGER|BROWSER|TMPDIR|TERMINFO|RUBYOPT|RUBYLIB|GOFLAGS|MAKEFLAGS|CLASSPATH|PYTHON.*|PERL5.*|LESSOPEN|LESSCLOSE|MANPAGER|.*PROXY|.*_COMMAND|.*_EDITOR|.*_PAGER|.*_PRELOAD|.*_OPTIONS|.*_OPTS)$/;

// TJS-25: a caller chooses the value, so the variable must not be one that programs obey.
export function readVariable(given: unknown, param: string, { pointer, report }: ReadAt): string {
  const name = typeof given === 'string' ? given : variableName(param);
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || POWERFUL.test(name.toUpperCase())) {
    report(
      `${pointer}/envVar`,
      `"${quoteOutside(name, 60)}" cannot be set by a parameter`,
      'use a name that only this program reads, such as NOTES_CONTENT',
    );
  }
  return name;
}

// TJS-26: a part of a deny check without the rest is a promise that cannot be kept.
export function readDeny(
  entry: Readonly<Record<string, unknown>>,
  resolve: Resolver | undefined,
  { pointer, report }: ReadAt,
): Deny | undefined {
  const pattern = typeof entry.denyPattern === 'string' ? entry.denyPattern : undefined;
  const always = entry.denyAlwaysResolve === true;
  if (pattern === undefined) {
    for (const key of ['denyResolveCommand', 'denyAlwaysResolve'])
      if (entry[key] !== undefined) report(`${pointer}/${key}`, `"${key}" without "denyPattern"`, 'add a denyPattern');
    return undefined;
  }
  if (always && entry.denyResolveCommand === undefined)
    report(`${pointer}/denyAlwaysResolve`, 'there is no denyResolveCommand', 'add one, or remove denyAlwaysResolve');
  if (!isPattern(pattern)) {
    report(
      `${pointer}/denyPattern`,
      `"${quoteOutside(pattern, 60)}" is not a regular expression`,
      'write one as for "pattern" of JSON Schema',
    );
  }
  return { pattern, resolve, always };
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}
