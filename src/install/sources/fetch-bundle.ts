// Fetches a bundle (`.mcpb`), an archive with an MCP server, and unpacks it. Its hash is its commit.

import { dirname, join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { formatBytes, quoteOutside } from '../../core/text.js';
import { digestBytes } from '../../files/digest.js';
import { makeDirectory } from '../../files/make-directory.js';
import { readHead } from '../../files/read.js';
import { removeTree } from '../../files/remove.js';
import { writeTreeFile } from '../../files/tree.js';
import { readZip } from '../../files/zip.js';
import type { InstallEnvironment } from '../environment.js';
import { assertPlatform, readBundle } from '../manifest/bundle.js';
import type { Pin } from '../manifest/source-manifest.js';
import type { SourceRecord } from '../state.js';
import { clonePaths, completeTree, isComplete } from './clones.js';
import type { FetchedCommit } from './fetch-commit.js';
import { assertSourceAllowed, isWebLocation } from './location.js';

const MAX_BYTES = 256 * 1024 * 1024;
const TIMEOUT_MS = 10 * 60_000;

/** Throws `integrity` if the bundle is not the pinned one; then nothing of it is unpacked (INS-67). */
export async function fetchBundle(
  { id, location, directory }: SourceRecord,
  pin: Pin | null,
  environment: InstallEnvironment,
): Promise<FetchedCommit> {
  environment.report({ kind: 'progress', text: `reading ${id}` });
  const bytes = isWebLocation(location) ? await download(location, environment) : readFile(location);
  const commit = digestBytes(bytes);
  if (pin !== null && pin.name !== commit)
    throw new ToolError('integrity', `${quoteOutside(location, 200)} has the SHA-256 ${commit}, not ${pin.name}`, {
      hint: 'do not use this bundle until you know why; --pin takes the SHA-256 of the file',
    });
  const { tree } = clonePaths(environment.paths, directory!, commit);
  if (!isComplete(tree)) unpackAll(bytes, location, tree);
  assertPlatform(readBundle(tree), environment.world.platform);
  return { commit, ref: null, pin };
}

function unpackAll(bytes: Buffer, location: string, tree: string): void {
  const entries = readZip(bytes, location);
  removeTree(tree);
  makeDirectory(tree);
  for (const { path, executable, read } of entries) {
    const file = join(tree, path);
    makeDirectory(dirname(file));
    writeTreeFile(file, read(), executable);
  }
  completeTree(
    tree,
    entries.map(({ path }) => path),
  );
}

function readFile(path: string): Buffer {
  const reading = readHead(path, MAX_BYTES);
  if (!('fault' in reading) && reading.complete) return reading.bytes;
  const reason = 'fault' in reading ? reading.message : `it is larger than ${formatBytes(MAX_BYTES)}`;
  throw new ToolError('unavailable', `${quoteOutside(path, 200)} cannot be read: ${reason}`, {
    hint: 'check the path',
  });
}

// Releases are often redirected to another host (INS-74).
async function download(url: string, environment: InstallEnvironment): Promise<Buffer> {
  const { signal, network } = environment;
  const allows = ({ href }: URL): void => assertSourceAllowed({ kind: 'bundle', location: href }, environment);
  const options = { url, anyOrigin: true, isDownload: true, maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS, allows };
  const response = await network.createFetch(options)(url, { signal });
  if (response.ok) return Buffer.from(await response.arrayBuffer());
  throw new ToolError('unavailable', `${quoteOutside(url, 200)} responded with status ${response.status}`, {
    hint: 'check the address',
  });
}
