// The commands of the guide to fleets, as they are written there, and the table of the page about scale.

import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { wield } from '../../support/cli.js';
import { ROOT, readDocument } from '../../support/documents.js';
import { callFront, createMember, FLEET_KEY, startHere } from '../../support/fleet.js';
import { hasRedis, NO_REDIS, startRedis } from '../../support/redis.js';
import { specIf } from '../../support/spec.js';

const TOKEN = '7c'.repeat(32);
const GREET = '#!/bin/sh\n# @description Greet.\necho hello\n';
const DRAW = '#!/bin/sh\n# @description Draw.\n# @run-on gpu\necho drawn\n';

specIf(hasRedis, NO_REDIS, 'FLT-3 FLT-4 FLT-7', 'the commands of the guide start a fleet that runs calls', async () => {
  const { url } = await startRedis();
  const [, block = ''] = /```sh\n([\s\S]*?)```/.exec(readDocument('docs/guides/fleet.md'))!;
  const lines = block
    .trim()
    .split('\n')
    .filter((line) => line.startsWith('wield '))
    .map((line) => line.replace('redis://127.0.0.1:6379', url).replace(' 7070 ', ' 0 ').split(' ').slice(1));
  expect(lines.length).toBe(7);
  const member = createMember({ greet: GREET, draw: DRAW });
  const names: string[] = [];
  for (const line of lines) {
    if (line[0] === 'serve' || line[0] === 'worker') names.push((await startHere(member, line)).name);
    else expect((await wield(member, line)).status, line.join(' ')).toBe(0);
  }
  expect((await callFront(names[0]!, 'greet')).text).toBe('hello\n');
  expect((await callFront(names[0]!, 'draw')).text).toBe('drawn\n');
});

interface Service {
  readonly image: string;
  readonly build: string;
  readonly read_only?: boolean;
  readonly tmpfs?: readonly string[];
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

specIf(hasRedis, NO_REDIS, 'FLT-75', 'the services of the compose file start and run the tools beside it', async () => {
  const { services, volumes } = parse(readDocument('examples/09-fleet/compose.yaml'), { merge: true }) as {
    readonly services: Readonly<Record<string, Service>>;
    readonly volumes: Readonly<Record<string, unknown>>;
  };
  const { redis, front, worker } = services as Record<'redis' | 'front' | 'worker', Service>;
  for (const { volumes: used, depends_on: needed = {} } of Object.values(services)) {
    expect(Object.keys(services)).toEqual(expect.arrayContaining(Object.keys(needed)));
    for (const volume of used) expect(['./', ...Object.keys(volumes)]).toContain(volume.split(':')[0]);
  }
  expect(redis.command[0]).toBe('valkey-server');
  const { url } = await startRedis({ options: redis.command.slice(1) });
  // The image has the packages that the error for a missing one and the guide name, and starts wield.
  const image = readDocument('Dockerfile');
  expect(existsSync(join(ROOT, 'examples/09-fleet', front.build, 'Dockerfile'))).toBe(true);
  expect(readDocument('docs/guides/fleet.md')).toContain('npm install bullmq@6 ioredis@6');
  expect(image).toMatch(/^RUN npm install .* bullmq@6 ioredis@6$/m);
  expect(image).toContain('ENTRYPOINT ["tini", "--", "wield"]');
  // Its user may write the state, and nothing else.
  const [, user] = /^USER (\d+)$/m.exec(image)!;
  for (const { read_only, tmpfs } of [front, worker])
    expect({ read_only, tmpfs }).toEqual({ read_only: true, tmpfs: ['/tmp', `/var/lib/wield:uid=${user},mode=0700`] });
  const member = createMember({});
  const start = async ({ command, environment = {} }: Service) => {
    const values: Record<string, string> = { WIELD_FLEET_KEY: FLEET_KEY, WIELD_TOKEN: TOKEN };
    const env = Object.fromEntries(
      Object.entries(environment).map(([name, text]) => [name, values[/^\$\{(\w+):\?.+\}$/.exec(text)![1]!]!]),
    );
    delete member.env.WIELD_FLEET_KEY;
    const dir = join(ROOT, 'examples/09-fleet');
    const args = command.map((word) => word.replace('redis://redis:6379', url).replace(/^(.*:)?7070$/, '$10'));
    return startHere({ ...member, dir, env: { ...member.env, ...env } }, args);
  };
  const { name } = await start(front);
  const { stderr } = await start(worker);
  const to = name.replace('0.0.0.0', '127.0.0.1');
  // The probe of the image, for both.
  const [, probe = '', port = ''] =
    /^HEALTHCHECK .* CMD \["node", "-e", "(.*?127\.0\.0\.1:(7070)\/healthz.*)"\]$/m.exec(image)!;
  const ports = [new URL(to).port, /answering probes at 127\.0\.0\.1:(\d+)/.exec(stderr())![1]!];
  const check = promisify(execFile);
  for (const at of ports) await check(process.execPath, ['-e', probe.replace(port, at)]);
  await expect(check(process.execPath, ['-e', probe.replace(port, '1')])).rejects.toThrow();
  expect((await fetch(to)).status).toBe(401);
  const { text } = await callFront(to, 'resize', { name: 'a.png' }, { token: TOKEN });
  expect(text).toMatch(/^resized a.png on /);
});

test('the page about scale shows what the simulation prints', () => {
  const printed = execFileSync(process.execPath, [join(ROOT, 'bench/fleet-scale.mjs'), '5'], { encoding: 'utf8' });
  expect(readDocument('docs/concepts/scale.md')).toContain(printed.trim());
});
