// Tests of search: splitting into words, stemming and ranking.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rounds } from '../../../test/support/effort.js';
import { createSearchIndex } from './search.js';
import { stem, toWords } from './words.js';

const index = createSearchIndex(
  [
    ['deploy_site', 'Publish the website to staging.'],
    ['notes_search', 'Search notes by name.'],
    ['searchNotesContent', 'Look through the content of all notes.'],
    ['send-mail', 'Send an email to somebody.'],
    ['weather', '查询城市天气'],
  ].map(([name, description]) => ({ name: name!, description: description! })),
  ({ name, description }, add) => {
    add(name, 2);
    add(description, 1);
  },
);
const names = (query: string): string[] => index.search(query, 5).map((hit) => hit.name);

describe('words', () => {
  test('splits identifiers, drops stop words and stems endings', () => {
    expect(toWords('getHTTPStatus2 of the parsed_files-list')).toEqual([
      'http',
      'status',
      '2',
      'parsed',
      'files',
      'list',
    ]);
    expect(toWords('Größe der naïve Datei – “quoted”, ID：７')).toEqual([
      'größe',
      'der',
      'naïve',
      'datei',
      'quoted',
      'id',
      '7',
    ]);
    for (const word of ['search', 'searches', 'searching', 'searched']) expect(stem(word)).toBe('search');
    expect(stem('cities')).toBe(stem('city'));
  });

  test('splits scripts without spaces into bigrams', () => {
    expect(toWords('城市天气')).toEqual(['城市', '市天', '天气']);
  });

  test('splits ASCII like the regular expression does', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9 _.,-]{0,60}$/), (text) => {
        // U+00A0 is not a letter, but forces the adjacent text through the regular expression.
        const wide = text.replaceAll(' ', '\u00a0');
        expect(toWords(text)).toEqual(toWords(`${wide}\u00a0`));
      }),
      { numRuns: rounds(150, 2000) },
    );
  });
});

describe('ranking', () => {
  test('ranks the best match first', () => {
    expect(names('publish website')[0]).toBe('deploy_site');
    expect(names('emailing people')[0]).toBe('send-mail');
    expect(names('search the content of notes')[0]).toBe('searchNotesContent');
    expect(names('天气')).toEqual(['weather']);
    expect(names('zebra')).toEqual([]);
  });

  test('ranks an exact name first, regardless of case and punctuation', () => {
    for (const query of ['notes_search', 'Notes Search', 'notes-search']) expect(names(query)[0]).toBe('notes_search');
    expect(names('sendmail')[0]).toBe('send-mail');
  });

  test('scores exact spelling and adjacent words of a name higher', () => {
    const like = createSearchIndex(
      ['file_list', 'list_files', 'list_file', 'file_new_list'].map((name) => ({ name })),
      ({ name }, add) => add(name, 1, true),
    );
    const first = (query: string): string | undefined => like.search(`the ${query} tool`, 1)[0]?.name;
    expect(first('list files')).toBe('list_files');
    expect(first('list file')).toBe('list_file');
    expect(first('file list')).toBe('file_list');
    expect(first('file new')).toBe('file_new_list');
  });

  test('finds compounds in either spelling', () => {
    const like = createSearchIndex(
      ['get_cashflow', 'get_flow', 'read_file_system', 'read_system'].map((name) => ({ name })),
      ({ name }, add) => add(name, 1, true),
    );
    const first = (query: string): string | undefined => like.search(query, 1)[0]?.name;
    expect(first('statement of cash flows')).toBe('get_cashflow');
    expect(first('the filesystem')).toBe('read_file_system');
  });

  test('ranks the exact spelling first among names that differ in punctuation', () => {
    const near = createSearchIndex(
      ['a_b', 'A-B', 'ab', 'AB'].map((name) => ({ name })),
      () => {},
    );
    for (const name of ['a_b', 'A-B', 'ab', 'AB']) expect(near.search(name, 4)[0]?.name).toBe(name);
    expect(near.search('a b', 4)).toHaveLength(4);
    expect(near.search('c', 4)).toEqual([]);
  });

  test('takes turns among several queries, and prefers families that several of them found', () => {
    const like = createSearchIndex(
      ['ppt_add_slide', 'doc_save', 'ppt_save', 'sheet_save', 'mail_send'].map((name) => ({ name })),
      ({ name }, add) => add(name, 1, true),
      ({ name }) => name.split('_')[0]!,
    );
    const found = (queries: readonly string[], limit = 5): string[] =>
      like.search(queries, limit).map((hit) => hit.name);
    expect(found(['save a file'])[0]).toBe('doc_save');
    expect(found(['add a slide', 'save a file'], 2)).toEqual(['ppt_add_slide', 'ppt_save']);
    expect(found(['save a file', 'add a slide', 'send'], 3).sort()).toEqual(['mail_send', 'ppt_add_slide', 'ppt_save']);
    // A name comes first, also if no other query supports it.
    expect(found(['add a slide', 'save a ppt', ' mail_send '])[0]).toBe('mail_send');
    expect(found(['', 'zebra'])).toEqual([]);
  });

  test('keeps no state between queries', () => {
    const before = names('notes');
    for (let at = 0; at < 100; at++) index.search(`unheard${at} of searching`, 3);
    expect(names('notes')).toEqual(before);
    expect(names('unheard7')).toEqual([]);
  });

  test('returns the first results of the full ranking for a limit', () => {
    const all = index.search('search notes content mail', 5);
    expect(index.search('search notes content mail', 2)).toEqual(all.slice(0, 2));
    expect(all.map((hit) => hit.score)).toEqual([...all.map((hit) => hit.score)].sort((a, b) => b - a));
  });
});
