// Search: words, endings and identifiers meet, exact names come first, and nothing is lost on the way.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSearchIndex } from './search.js';
import { stem, toWords } from './words.js';

const index = createSearchIndex(
  [
    ['deploy_site', 'Publish the website to staging.'],
    ['notes_search', 'Search notes by name.'],
    ['searchNotesContent', 'Look through the content of all notes.'],
    ['send-mail', 'Send an email to somebody.'],
    ['weather', '查询城市天气'],
  ].map(([name, description]) => ({
    name: name!,
    fields: [
      { text: name!, weight: 2 },
      { text: description!, weight: 1 },
    ],
  })),
);
const names = (query: string): string[] => index.search(query, 5).map((hit) => hit.name);

describe('words', () => {
  test('identifiers are split, endings cut, common words left out', () => {
    expect(toWords('getHTTPStatus2 of the parsed_files-list')).toEqual([
      'http',
      'status',
      '2',
      'pars',
      'fil',
      'list',
    ]);
    for (const word of ['search', 'searches', 'searching', 'searched']) expect(stem(word)).toBe('search');
    expect(stem('cities')).toBe(stem('city'));
  });

  test('scripts without spaces give pairs', () => {
    expect(toWords('城市天气')).toEqual(['城市', '市天', '天气']);
  });

  test('the fast way and the general way agree on plain text', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9 _.,-]{0,60}$/), (text) => {
        // A character outside ASCII takes the general way; it is no letter, so the words are the same.
        expect(toWords(text)).toEqual(toWords(`${text} “`));
      }),
      { numRuns: 2000 },
    );
  });
});

describe('ranking', () => {
  test('what fits best comes first', () => {
    expect(names('publish website')[0]).toBe('deploy_site');
    expect(names('emailing people')[0]).toBe('send-mail');
    expect(names('search the content of notes')[0]).toBe('searchNotesContent');
    expect(names('天气')).toEqual(['weather']);
    expect(names('zebra')).toEqual([]);
  });

  test('an exact name is first, however it is spelled', () => {
    for (const query of ['notes_search', 'Notes Search', 'notes-search'])
      expect(names(query)[0]).toBe('notes_search');
    expect(names('sendmail')[0]).toBe('send-mail');
  });

  test('a limit gives the first of the whole order', () => {
    const all = index.search('search notes content mail', 5);
    expect(index.search('search notes content mail', 2)).toEqual(all.slice(0, 2));
    expect(all.map((hit) => hit.score)).toEqual([...all.map((hit) => hit.score)].sort((a, b) => b - a));
  });
});
