// Tests of version negotiation: in the process that is used, cached for a day, repeated if it changed.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { ElicitAnswer } from '../../../src/index.js';
import { PROTOCOL_SERVER } from '../../support/bundled-server.js';
import { some } from '../../support/effort.js';
import { spec } from '../../support/spec.js';
import { configureServers, countedServer, protocolServer, said } from '../../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const RED: ElicitAnswer = { action: 'accept', content: { colour: 'red' } };

describe('the protocol version of a server', () => {
  const callOnce = async (workspace: Workspace, name = 'far_echo'): Promise<string> => {
    const toolbox = workspace.toolbox();
    const result =
      name === 'far_echo'
        ? await toolbox.call(name, { text: 'hello' })
        : await toolbox.call(name, {}, { elicit: async () => RED });
    await toolbox.close();
    return result.error === undefined ? said(result) : `${result.error.code}: ${result.error.message}`;
  };
  const heard = (log: readonly string[]): string[] =>
    log.filter((line) => line.startsWith('heard')).map((line) => line.slice('heard '.length));
  const listingFile = (workspace: Workspace): string => {
    const directory = join(workspace.env.WIELD_HOME!, 'cache', 'upstream');
    return join(directory, readdirSync(directory).find((name) => name.endsWith('.listing'))!);
  };

  for (const protocol of some(['older', 'newer'] as const, 1))
    spec.thorough('UPS-11', `is negotiated in the process that is then used, and cached: ${protocol}`, async () => {
      const workspace = createWorkspace();
      const upstream = await protocolServer(workspace, 'far', protocol, 'stdio');
      configureServers(workspace, { far: upstream.entry });
      expect(await callOnce(workspace)).toBe('hello');
      expect(upstream.starts()).toHaveLength(1);
      expect(heard(upstream.log())[0]).toBe('server/discover');
      expect(readFileSync(listingFile(workspace), 'utf8')).toContain(
        `"version":{"kind":"${protocol === 'older' ? 'legacy' : 'modern'}"`,
      );
      const before = upstream.log().length;
      expect(await callOnce(workspace)).toBe('hello');
      expect(upstream.starts()).toHaveLength(2);
      expect(heard(upstream.log().slice(before))).not.toContain('server/discover');
    });

  spec.thorough('UPS-11', 'is negotiated again after a day', async () => {
    const workspace = createWorkspace();
    const upstream = await protocolServer(workspace, 'far', 'older', 'stdio');
    configureServers(workspace, { far: upstream.entry });
    await callOnce(workspace);
    const file = listingFile(workspace);
    const age = (hours: number): void =>
      writeFileSync(file, readFileSync(file, 'utf8').replace(/"at":\d+/, `"at":${Date.now() - hours * 3_600_000}`));
    for (const [hours, asks] of [
      [23, false],
      [25, true],
    ] as const) {
      age(hours);
      const before = upstream.log().length;
      expect(await callOnce(workspace)).toBe('hello');
      expect(heard(upstream.log().slice(before)).includes('server/discover')).toBe(asks);
    }
    expect(upstream.starts()).toHaveLength(3);
  });

  const CHANGES = [
    ['older', 'newer'],
    ['newer', 'older'],
  ] as const;
  for (const [before, after] of some(CHANGES, 1))
    spec('UPS-11', `may change from ${before} to ${after} between two starts`, async () => {
      const workspace = createWorkspace();
      const protocol = workspace.write('protocol', before);
      const upstream = countedServer(workspace, 'far', { program: PROTOCOL_SERVER, args: [protocol] });
      configureServers(workspace, { far: upstream.entry });
      expect(JSON.parse(await callOnce(workspace, 'far_ask'))).toEqual(RED);
      writeFileSync(protocol, after);
      expect(JSON.parse(await callOnce(workspace, 'far_ask'))).toEqual(RED);
      const starts = upstream.starts().length;
      expect(starts).toBeLessThanOrEqual(4);
      expect(JSON.parse(await callOnce(workspace, 'far_ask'))).toEqual(RED);
      expect(upstream.starts()).toHaveLength(starts + 1);
    });

  spec('UPS-11', 'costs one more start, once, for a server that exits on unknown requests', async () => {
    const workspace = createWorkspace();
    const upstream = countedServer(workspace, 'far', { args: ['curt'] });
    configureServers(workspace, { far: upstream.entry });
    expect(await callOnce(workspace)).toBe('hello');
    expect(upstream.starts()).toHaveLength(2);
    expect(await callOnce(workspace)).toBe('hello');
    expect(upstream.starts()).toHaveLength(3);
  });
});
