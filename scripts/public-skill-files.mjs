// Reads every file that a text of an installed skill names, and that exists in it or elsewhere in its source, with read_skill
// as a model.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const NODE_ENTRY = fileURLToPath(new URL('../dist/node.js', import.meta.url));

// A word may lead through a file, which is an error of its own.
function isFileAt(path) {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    return false;
  }
}

// What an agent fills in before a path: the directory of a skill or of its plugin.
const PLACEHOLDER = /["']?(?:\$\{\w+\}|\$\w+|\{\{?\w+\}?\}|<[\w -]+>)["']?\//g;

// The words of a text that may be paths of files.
const wordsOf = (text) =>
  new Set(
    text
      .replace(PLACEHOLDER, ' ')
      .split(/[\s`"'()[\]<>|,;*]+/)
      .map((word) => word.replace(/[#?].*$/, '').replace(/[.:]+$/, ''))
      .filter((word) => /[./]/.test(word) && !/:\/\/|^\//.test(word) && Buffer.byteLength(word) < 200),
  );

// Returns the files that the texts of a skill name: in it, and elsewhere in its source, seen from a text, from the skill, and from
// each directory above it; and what those texts elsewhere name, seen from themselves. Relative to the skill.
function findNamed(directory, source) {
  const known = new Map();
  const isFile = (path) => {
    if (!known.has(path)) known.set(path, isFileAt(join(directory, path)));
    return known.get(path);
  };
  const isHidden = (path) => path.split('/').some((part) => /^(?:\.(?!\.$).*|node_modules|__pycache__)$/.test(part));
  const isInside = (path) => path !== '' && !relative(source, join(directory, path)).startsWith('..');
  const isNamed = (path) => isInside(path) && isFile(path) && !(path.startsWith('..') && isHidden(path));
  const toPath = (base, word) => relative(directory, join(directory, base, word));
  const depth = relative(source, directory).split('/').filter(Boolean).length;
  const above = Array.from({ length: depth }, (_, at) => '../'.repeat(at + 1));
  const own = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((path) => TEXT.test(path));
  const queue = own.filter(isFile);
  const named = new Set();
  for (const text of queue)
    for (const word of wordsOf(readFileSync(join(directory, text), 'utf8'))) {
      const isOwn = !text.startsWith('..');
      const bases = isOwn ? [dirname(text), '.'] : [dirname(text)];
      const near = bases.map((base) => toPath(base, word)).filter(isNamed);
      const isFar = isOwn && near.length === 0 && word.includes('/') && !/^\.{1,2}\//.test(word);
      const far = isFar ? above.map((base) => toPath(base, word)).filter(isNamed) : [];
      for (const path of [...near, ...far.slice(0, 1)]) {
        if (path === 'SKILL.md' || named.has(path)) continue;
        named.add(path);
        if (isOwn && path.startsWith('..') && TEXT.test(path) && basename(path) !== 'SKILL.md') queue.push(path);
      }
    }
  return named;
}

// Each call compares the files of all installed skills with the index: with thousands of skills, only some files are read.
const MOST_COMPARISONS = 10_000_000;

const TEXT = /\.mdx?$/i;

// The paths in the directory of its plugin that the installed texts of a skill have, where a token was replaced.
function findInPlugin(directory, home) {
  const texts = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((path) => TEXT.test(path));
  const words = texts.flatMap((text) => [...wordsOf(readFileSync(join(directory, text), 'utf8'))]);
  const toFile = (word) => word.replace(/^~/, home);
  return [...new Set(words)]
    .filter((word) => /\.wield\/store\/plugin\//.test(word) && !/\/\./.test(word.split('/store/')[1]))
    .filter((word) => isFileAt(toFile(word)))
    .map((word) => ({ file: word, path: toFile(word) }));
}

// Whether read_skill returns a file: its text, all pages of it, the bytes of an image, or the path of something else.
async function isRead(toolbox, skill, file, bytes) {
  const read = (page) =>
    toolbox.call('read_skill', { skill_name: skill, file, page }, { caller: { kind: 'model', door: 'mcp' } });
  const { ok, content } = await read(1);
  const [part, note] = content;
  if (!ok) return false;
  if (part.type === 'image') return part.data === bytes.toString('base64');
  if (part.text.includes(' is a binary file of ')) return true;
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
  const found = { skills: skills.length, naming: 0, files: 0, outside: 0, unread: 0, faults: [] };
  if (skills.length === 0) {
    await toolbox.close();
    return found;
  }
  const record = JSON.parse(readFileSync(join(home, '.wield/installed.json'), 'utf8'));
  const { sources } = JSON.parse(readFileSync(join(home, '.wield/sources.json'), 'utf8'));
  const all = [];
  for (const { effective } of skills) {
    if (!listed.has(effective)) found.faults.push(`${effective} is not listed`);
    const item = record.items.find((one) => one.kind === 'skill' && one.effective === effective);
    const { directory: clone } = sources.find(({ id }) => id === item.source);
    const source = join(home, '.wield/sources', clone, 'trees', item.commit);
    const directory = join(source, item.path);
    const store = join(home, '.wield/store/skill', effective);
    // Tokens in files of the skill itself are expanded.
    const named = [...findNamed(directory, source)].map((file) => ({
      file,
      path: join(file.startsWith('..') ? directory : store, file),
    }));
    const files = [...named, ...findInPlugin(store, home)];
    if (files.length > 0) found.naming++;
    found.files += files.length;
    found.outside += files.filter(({ file }) => /^(?:\.\.|[/~])/.test(file)).length;
    all.push(...files.map((file) => ({ ...file, effective })));
  }
  const every = Math.ceil((all.length * skills.length) / MOST_COMPARISONS);
  for (const [at, { effective, file, path }] of all.entries()) {
    if (at % every > 0) found.unread++;
    else if (!(await isRead(toolbox, effective, file, readFileSync(path))))
      found.faults.push(`${effective} ${file} is not read`);
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
  const left = total((one) => one.unread);
  return [
    FILES_HEADING,
    '',
    `\`npm run public-sources -- --files\` installs the newest commits of ${results.length} repositories, and reads every file that a`,
    'text of a skill names, and that exists in the skill or elsewhere in its repository, with `read_skill` as a model: paths from',
    'the text, from the skill and from each directory above it (`../../references/x.md`, `plugins/kit/docs/x.md`), after placeholders',
    'such as `${CLAUDE_PLUGIN_ROOT}`, and files that these texts name. Hidden files outside of a skill are not counted.',
    `Of ${total((one) => one.skills)} skills, ${total((one) => one.naming)} name ${files} files, ${total((one) => one.outside)} of them outside of the skill; ${files - unread - left} were read whole, ${unread} could not be read, and ${left} of repositories with thousands of skills were not tried.`,
    '',
    '| repository | skills | that name files | files named | outside | not tried | not read |',
    '|---|---|---|---|---|---|---|',
    ...results.map(
      ({ name, skills, naming, files, outside, unread, faults }) =>
        `| ${[name, skills, naming, files, outside, unread, faults.length].join(' | ')} |`,
    ),
    '',
    ...results.flatMap(({ name, refused }) => refused.map((reason) => `- Not installed from ${name}: ${reason}`)),
  ].join('\n');
}
