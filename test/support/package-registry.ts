// Registries on loopback that npm and uv really install from: packages of MCP servers, with any number of versions.

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { onEnd } from './share.js';
import type { Workspace } from './workspace.js';
import { makeZip } from './zip.js';

/** The tools of a version: descriptions by name. */
export type ServerTools = Readonly<Record<string, string>>;

export interface PackageRegistry {
  readonly origin: string;
  /** Publishes a version of an npm package; a version that exists is replaced. */
  publish(name: string, version: string, tools: ServerTools, more?: Readonly<Record<string, unknown>>): string;
  /** Publishes a wheel, with a program of its own name. */
  publishWheel(name: string, version: string, tools: ServerTools): string;
  /** The paths that were asked for. */
  readonly requests: string[];
}

// A server in one file, without packages of others.
const toServer = (tools: ServerTools, language: 'js' | 'py'): string => {
  const list = Object.entries(tools).map(([name, description]) => ({
    name,
    description,
    inputSchema: { type: 'object' },
  }));
  const answer = {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'x', version: '1' },
  };
  if (language === 'js')
    return `#!/usr/bin/env node
const list = ${JSON.stringify(list)};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const result = method === 'initialize' ? ${JSON.stringify(answer)} : method === 'tools/list' ? { tools: list } : method === 'tools/call' ? { content: [{ type: 'text', text: 'called' }] } : undefined;
  const error = { code: -32601, message: 'unknown method' };
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) }) + '\\n');
});
`;
  return `import json, sys
def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message: continue
        method = message["method"]
        answer = {"initialize": json.loads(${JSON.stringify(JSON.stringify(answer))}), "tools/list": {"tools": json.loads(${JSON.stringify(JSON.stringify(list))})}}.get(method)
        out = {"jsonrpc": "2.0", "id": message["id"]}
        out.update({"result": answer} if answer else {"error": {"code": -32601, "message": "unknown method"}})
        print(json.dumps(out), flush=True)
`;
};

const sha = (algorithm: string, bytes: Uint8Array, form: 'hex' | 'base64'): string =>
  createHash(algorithm).update(bytes).digest(form);

/** Writes a tar archive of small files. */
function toTar(files: Readonly<Record<string, string>>): Buffer {
  const blocks = Object.entries(files).flatMap(([name, text]) => {
    const body = Buffer.from(text);
    const head = Buffer.alloc(512);
    head.write(name, 0);
    head.write('0000755\0', 100);
    head.write('0000000\0'.repeat(2), 108);
    head.write(`${body.length.toString(8).padStart(11, '0')}\0`, 124);
    head.write('00000000000\0', 136);
    head.write('        0', 148);
    head.write('ustar\0' + '00', 257);
    const sum = head.reduce((total, byte) => total + byte, 0);
    head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    return [head, body, Buffer.alloc((512 - (body.length % 512)) % 512)];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]));
}

const zipOf = (files: Readonly<Record<string, string>>): Buffer =>
  makeZip(Object.entries(files).map(([name, content]) => ({ path: name, content })));

export async function startPackageRegistry(): Promise<PackageRegistry> {
  const files = new Map<string, Uint8Array | string>();
  const versions = new Map<string, Record<string, unknown>>();
  const wheels = new Map<string, string[]>();
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url!.split('?')[0]!);
    requests.push(path);
    const found = files.get(path);
    response.statusCode = found === undefined ? 404 : 200;
    response.setHeader('content-type', path.startsWith('/simple/') ? 'text/html' : 'application/json');
    response.end(found ?? '{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(() => void server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    requests,
    publish(name, version, tools, more = {}) {
      const manifest = { name, version, bin: { [name.replace(/^@[^/]+\//, '')]: 'server.js' }, ...more };
      const tarball = toTar({
        'package/package.json': JSON.stringify(manifest),
        'package/server.js': toServer(tools, 'js'),
      });
      const path = `/${name}/-/${version}.tgz`;
      const integrity = `sha512-${sha('sha512', tarball, 'base64')}`;
      const all = { ...versions.get(name), [version]: { ...manifest, dist: { tarball: origin + path, integrity } } };
      versions.set(name, all);
      files.set(path, tarball);
      files.set(`/${name}`, JSON.stringify({ name, 'dist-tags': { latest: version }, versions: all }));
      return integrity;
    },
    publishWheel(name, version, tools) {
      const base = `${name}-${version}`;
      const wheel = zipOf({
        [`${name}.py`]: toServer(tools, 'py'),
        [`${base}.dist-info/METADATA`]: `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`,
        [`${base}.dist-info/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
        [`${base}.dist-info/entry_points.txt`]: `[console_scripts]\n${name} = ${name}:main\n`,
        [`${base}.dist-info/RECORD`]: '',
      });
      const file = `${base}-py3-none-any.whl`;
      const hash = sha('sha256', wheel, 'hex');
      wheels.set(name, [...(wheels.get(name) ?? []), `<a href="/files/${file}#sha256=${hash}">${file}</a>`]);
      files.set(`/files/${file}`, wheel);
      files.set(`/simple/${name}/`, `<html><body>${wheels.get(name)!.join('\n')}</body></html>`);
      return `sha256:${hash}`;
    },
  };
}

/** Lets npm of a workspace's user use a registry. */
export function useRegistry({ home }: Workspace, { origin }: PackageRegistry): void {
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, '.npmrc'), `registry=${origin}/\ncache=${join(home, '.npm')}\n`);
}

export function readServersFile({ home }: Workspace): Record<string, { args: string[]; integrity?: string }> {
  return JSON.parse(readFileSync(join(home, '.agents', 'mcp.json'), 'utf8')).mcpServers;
}
