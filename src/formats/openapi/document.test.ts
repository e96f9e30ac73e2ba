// Tests which files an OpenAPI document may refer to.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { spec } from '../../../test/support/spec.js';
import { createLimits, openDocument } from './document.js';

spec('OAS-7', 'refers to files of its folder, also through a link to the folder, and to no others', () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'wield-documents-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  mkdirSync(join(root, 'own/parts'), { recursive: true });
  writeFileSync(join(root, 'own/api.yaml'), 'openapi: 3.1.0\n');
  writeFileSync(join(root, 'own/parts/name.yaml'), 'type: string\n');
  writeFileSync(join(root, 'other.yaml'), 'type: number\n');
  symlinkSync(join(root, 'own'), join(root, 'link'));
  symlinkSync(join(root, 'other.yaml'), join(root, 'own/leads-out.yaml'));
  for (const folder of ['own', 'link']) {
    const document = openDocument(join(root, folder, 'api.yaml'), undefined, createLimits());
    expect(document.resolve('parts/name.yaml', document.file).node).toEqual({ type: 'string' });
    for (const outside of ['../other.yaml', 'parts/../../other.yaml', 'leads-out.yaml', '%2e%2e/other.yaml'])
      expect(() => document.resolve(outside, document.file), outside).toThrow('outside of its folder');
    for (const remote of ['https://example.com/a.yaml', '//example.com/a.yaml', 'file:///etc/passwd'])
      expect(() => document.resolve(remote, document.file), remote).toThrow('on another machine');
  }
});
