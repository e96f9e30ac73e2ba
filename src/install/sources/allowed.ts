// Whether the lists of the configuration allow a source, by its address in one spelling (POL-42).

import { fileURLToPath } from 'node:url';
import { findSourceBlock } from '../../core/allowance.js';
import { orNothing, ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { realPath } from '../../files/within.js';
import type { InstallEnvironment } from '../environment.js';
import { hideUser, isWebLocation, type SourceLocation } from './location.js';

type Located = Pick<SourceLocation, 'kind' | 'location'>;

/** Throws `denied` if no list allows a source. */
export function assertSourceAllowed(
  source: Located,
  { allowedSources }: Pick<InstallEnvironment, 'allowedSources'>,
): void {
  if (allowedSources.length === 0) return;
  const block = findSourceBlock(toAddress(source), allowedSources);
  if (block === undefined) return;
  const shown = quoteOutside(hideUser(source.location), 200);
  throw new ToolError('denied', `the source ${shown} is blocked: ${block.reason}`, {
    hint: `${block.file}:${block.line} has the list of allowed sources`,
    data: { file: block.file, line: block.line },
  });
}

/**
 * Returns `host/path`, or the real path of a directory or file. User names, `.git`, default ports and the case of the host
 * make no difference. Undefined if programs could read the location in different ways.
 */
function toAddress({ kind, location }: Located): string | undefined {
  if (kind === 'local' || (kind === 'bundle' && !isWebLocation(location))) return realPath(location) ?? location;
  const [, host, path] = /^[\w.-]+@([\w.-]+):([^:]+)$/.exec(location) ?? [];
  if (host !== undefined) return join(host, '', path!);
  // Git and URLs disagree about these characters.
  if (!/^[\x21-\x7e]+$/.test(location.replace(/^\w+:\/\/[^/]*/, '')) || /[\\#?%]/.test(location)) return undefined;
  if (!URL.canParse(location)) return undefined;
  const { protocol } = new URL(location);
  if (protocol === 'file:') return orNothing(() => realPath(fileURLToPath(location)));
  // Of `ssh:`, the host would be left as it is.
  const url = new URL(location.replace(/^\w+:/, 'https:'));
  const isDefault = url.port === '' || (protocol === 'ssh:' && url.port === '22');
  // What is resolved here is sent as it is written.
  const written = location.replace(/^\w+:\/\/[^/]*/, '');
  return join(url.hostname, isDefault ? '' : `:${url.port}`, written);
}

function join(host: string, port: string, path: string): string | undefined {
  const segments = path
    .replace(/^\//, '')
    .replace(/\/$/, '')
    .replace(/\.git$/, '')
    .split('/');
  const isPlain = segments.every((segment) => /^[\w.~+@-]+$/.test(segment) && !/^\.{1,2}$/.test(segment));
  return isPlain ? `${host.toLowerCase().replace(/\.+$/, '')}${port}/${segments.join('/')}` : undefined;
}
