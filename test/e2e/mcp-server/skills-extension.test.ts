// Skills over MCP, of this workspace and of upstream servers, checked by the client of the SDK.

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { describe, expect, vi } from 'vitest';
import { connectStdio, type ProtocolVersion } from '../../support/clients.js';
import { patience } from '../../support/patience.js';
import { serveUrl } from '../../support/serve.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const VERSIONS: readonly ProtocolVersion[] = ['older', 'newer'];

function createSkills(): Workspace {
  const workspace = createWorkspace();
  const skill = (name: string, more = '') =>
    `---\nname: ${name}\ndescription: About ${name}.\n${more}---\nText. :tool[x]\n`;
  workspace.write(
    '.agents/skills/notes/SKILL.md',
    skill('notes', 'license: MIT\nmetadata:\n  version: "1.0"\n  origin: here\n'),
  );
  workspace.write('.agents/skills/notes/references/a b.md', 'Spaces.');
  workspace.write('.agents/skills/notes/references/deep/c.md', 'Deep.');
  workspace.write('.agents/skills/notes/logo.png', Buffer.from('89504e470d0a1a0aff00', 'hex'));
  workspace.write('.agents/skills/hidden/SKILL.md', skill('hidden', 'metadata: { visibility: hidden }\n'));
  workspace.write('.agents/skills/Odd/SKILL.md', skill('Odd Name'));
  workspace.write('.agents/skills/typed/SKILL.md', skill('typed', 'metadata: { tags: [a] }\n'));
  workspace.write('.agents/skills/wordy/SKILL.md', skill('wordy', `compatibility: ${'x'.repeat(501)}\n`));
  workspace.write('.agents/skills/flat.md', skill('flat'));
  workspace.write('.agents/skills/denied/SKILL.md', skill('denied'));
  const huge = join(workspace.dir, '.agents/skills/huge');
  mkdirSync(huge);
  writeFileSync(join(huge, 'SKILL.md'), skill('huge'));
  for (let at = 0; at < 512; at++) writeFileSync(join(huge, `${at}.txt`), '');
  symlinkSync('/etc/passwd', join(workspace.dir, '.agents/skills/notes/passwd'));
  workspace.config('[trust]\nrules = ["resource:skill://denied/*($deny)"]\n');
  return workspace;
}

const readAll = async (client: Client, root: string): Promise<string[]> => {
  const skills = new SkillsClient(client);
  const { skill } = await skills.get(`${root}/SKILL.md`);
  const files = await Promise.all(
    (skill.resources as { uri: string }[]).map(async ({ uri }) => {
      const { verified } = await skills.read(skill, uri);
      return `${uri.slice(root.length)} ${verified}`;
    }),
  );
  return files.sort();
};

const FILES = ['/SKILL.md true', '/logo.png true', '/references/a%20b.md true', '/references/deep/c.md true'];

describe.each(VERSIONS)('in the %s protocol version', (version) => {
  spec('SKL-11', 'skills are listed with their files, which match their digests', async () => {
    const client = await connectStdio(createSkills(), version);
    const skills = new SkillsClient(client);
    expect([skills.supported, skills.directoryRead]).toEqual([true, true]);
    const { skills: listed } = await skills.list();
    expect(listed.map(({ uri }) => uri)).toEqual(['skill://notes/SKILL.md']);
    expect(listed[0]!.frontmatter).toEqual({
      name: 'notes',
      description: 'About notes.',
      license: 'MIT',
      metadata: { version: '1.0', origin: 'here' },
    });
    expect(await readAll(client, 'skill://notes')).toEqual(FILES);
    const { resources } = await skills.readDirectory('skill://notes');
    expect(resources.map(({ uri, name, mimeType }) => [uri, name, mimeType])).toEqual([
      ['skill://notes/SKILL.md', 'SKILL.md', 'text/markdown'],
      ['skill://notes/logo.png', 'logo.png', undefined],
      ['skill://notes/references', 'references', 'inode/directory'],
    ]);
    const below = (await skills.readDirectory('skill://notes/references')).resources;
    expect(below.map(({ name }) => name)).toEqual(['a b.md', 'deep']);
    for (const uri of [
      'skill://hidden/SKILL.md',
      'skill://denied/SKILL.md',
      'skill://nosuch/SKILL.md',
      'skill://notes',
    ])
      await expect(skills.get(uri)).rejects.toMatchObject({ code: -32602 });
    for (const uri of ['skill://notes/SKILL.md', 'skill://nosuch', 'skill://notes/passwd'])
      await expect(skills.readDirectory(uri)).rejects.toMatchObject({ code: -32602 });
    await expect(client.readResource({ uri: 'skill://notes/passwd' })).rejects.toThrow();
  });

  spec('SKL-12 RSC-2 RSC-8', 'skills of a server are passed on under its name', async () => {
    const url = await serveUrl(createSkills(), []);
    const workspace = createWorkspace();
    workspace.write('.agents/skills/notes/SKILL.md', '---\nname: notes\ndescription: My own.\n---\nOwn.\n');
    mkdirSync(join(workspace.home, '.agents'), { recursive: true });
    const entries = { far: { url }, kept: { url, prefix: false }, without: { url, deny: ['resource:*'] } };
    writeFileSync(join(workspace.home, '.agents/mcp.json'), JSON.stringify({ mcpServers: entries }));
    const client = await connectStdio(workspace, version);
    const listed = async () => {
      const { skills } = await new SkillsClient(client).list({}, { cacheMode: 'refresh' } as never);
      return skills.map(({ uri, frontmatter }) => `${uri} ${frontmatter.description}`);
    };
    // A listing does not wait long for a server that was never listed.
    await vi.waitFor(
      async () =>
        expect(await listed()).toEqual([
          'skill://notes/SKILL.md My own.',
          'skill://far/notes/SKILL.md About notes.',
          'skill://kept/notes/SKILL.md About notes.',
        ]),
      { timeout: patience(30_000) },
    );
    expect(await readAll(client, 'skill://far/notes')).toEqual(FILES);
    expect(await readAll(client, 'skill://kept/notes')).toEqual(FILES);
    const { resources } = await new SkillsClient(client).readDirectory('skill://far/notes');
    expect(resources).toHaveLength(3);
    workspace.config('[trust]\nrules = ["resource:mcp://far/*($deny)"]\n');
    const denied = await connectStdio(workspace, version);
    const left = (await new SkillsClient(denied).list()).skills.map(({ uri }) => uri);
    expect(left).toEqual(['skill://notes/SKILL.md', 'skill://kept/notes/SKILL.md']);
    await expect(denied.readResource({ uri: 'skill://far/notes/SKILL.md' })).rejects.toThrow();
  });
});
