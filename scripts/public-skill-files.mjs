// Reads every file that a text of an installed skill names, and that exists in it or elsewhere in its source, with read_skill
// as a model.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const NODE_ENTRY = fileURLToPath(new URL('../dist/node.js', import.meta.url));

// The words of a text that may be paths of files.
const wordsOf = (text) =>
  new Set(
    text
      .split(/[\s`"'()[\]<>|,;*]+/)
      .map((word) => word.replace(/[#?].*$/, '').replace(/[.:]+$/, ''))
      .filter((word) => /[./]/.test(word) && !word.includes('://') && Buffer.byteLength(word) < 200),
  );

// Returns the files that the texts of a skill name, in it and elsewhere in its source, relative to the skill.
function findNamed(directory, source) {
  const isFile = (path) => statSync(join(directory, path), { throwIfNoEntry: false })?.isFile() === true;
  const isHidden = (path) => path.split('/').some((part) => /^(?:\.(?!\.$).*|node_modules|__pycache__)$/.test(part));
  const isInside = (path) => path !== '' && !relative(source, join(directory, path)).startsWith('..');
  const texts = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((path) => /\.mdx?$/i.test(path));
  const named = new Set();
  for (const text of texts.filter(isFile))
    for (const word of wordsOf(readFileSync(join(directory, text), 'utf8')))
      for (const base of ['.', dirname(text)]) {
        const path = relative(directory, join(directory, base, word));
        if (isInside(path) && path !== 'SKILL.md' && isFile(path) && !(path.startsWith('..') && isHidden(path)))
          named.add(path);
      }
  return named;
}

// Whether read_skill returns a file: its text, all pages of it, the bytes of an image, or the path of something else.
async function isRead(toolbox, skill, file, bytes) {
  const read = (page) =>
    toolbox.call('read_skill', { skill_name: skill, file, page }, { caller: { kind: 'model', door: 'mcp' } });
  const { ok, content } = await read(1);
  const [part, note] = content;
  if (!ok) return false;
  if (part.type === 'image') return part.data === bytes.toString('base64');
  if (part.text.startsWith(`${file} is a binary file of`)) return true;
  const pages = Number(/^\[page 1 of (\d+);/.exec(note?.text ?? '')?.[1] ?? 1);
  let { text } = part;
  for (let page = 2; page <= pages; page++) text += (await read(page)).content[0].text;
  return text === bytes.toString('utf8') || text === bytes.toString('latin1');
}

/** Reads the named files of the skills that are installed in a home. */
export async function readNamedFiles({ home, project, run }) {
  const skills = run('list', '--installed').items.filter(({ kind }) => kind === 'skill');
  const { createNodeToolbox } = await import(NODE_ENTRY);
  const toolbox = createNodeToolbox({ workdir: project, env: { PATH: process.env.PATH, HOME: home } });
  const listed = new Set((await toolbox.catalog.survey()).skills.map(({ name }) => name));
  const found = { skills: skills.length, naming: 0, files: 0, outside: 0, faults: [] };
  if (skills.length === 0) {
    await toolbox.close();
    return found;
  }
  const record = JSON.parse(readFileSync(join(home, '.wield/installed.json'), 'utf8'));
  const { sources } = JSON.parse(readFileSync(join(home, '.wield/sources.json'), 'utf8'));
  for (const { effective } of skills) {
    if (!listed.has(effective)) found.faults.push(`${effective} is not listed`);
    const item = record.items.find((one) => one.kind === 'skill' && one.effective === effective);
    const { directory: clone } = sources.find(({ id }) => id === item.source);
    const source = join(home, '.wield/sources', clone, 'trees', item.commit);
    const directory = join(source, item.path);
    const named = findNamed(directory, source);
    if (named.size > 0) found.naming++;
    for (const file of named) {
      found.files++;
      if (file.startsWith('..')) found.outside++;
      const stored = join(home, '.wield/store/skill', effective, file);
      // Tokens in files of the skill itself are expanded.
      const bytes = readFileSync(file.startsWith('..') ? join(directory, file) : stored);
      if (!(await isRead(toolbox, effective, file, bytes))) found.faults.push(`${effective} ${file} is not read`);
    }
  }
  await toolbox.close();
  return found;
}

export const FILES_HEADING = '## Files that skills name';

/** Returns the section of the page. */
export function toFilesSection(results) {
  const total = (count) => results.reduce((sum, one) => sum + count(one), 0);
  const files = total((one) => one.files);
  const unread = total(({ faults }) => faults.length);
  return [
    FILES_HEADING,
    '',
    `\`npm run public-sources -- --files\` installs the newest commits of ${results.length} repositories, and reads every file that a`,
    'text of a skill names, and that exists in the skill or elsewhere in its repository (`../../references/x.md`), with',
    '`read_skill` as a model. Hidden files outside of a skill are not counted.',
    `Of ${total((one) => one.skills)} skills, ${total((one) => one.naming)} name ${files} files, ${total((one) => one.outside)} of them outside of the skill; ${files - unread} were read whole.`,
    '',
    '| repository | skills | that name files | files named | outside | not read |',
    '|---|---|---|---|---|---|',
    ...results.map(
      ({ name, skills, naming, files, outside, faults }) =>
        `| ${[name, skills, naming, files, outside, faults.length].join(' | ')} |`,
    ),
    '',
    ...results.flatMap(({ name, refused }) => refused.map((reason) => `- Not installed from ${name}: ${reason}`)),
  ].join('\n');
}
