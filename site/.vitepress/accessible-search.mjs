// The roles of the search dialog of VitePress: a dialog with a list of links, where it says a button with options in it.

const CHANGES = [
  ['role="button"', 'role="dialog" aria-modal="true"'],
  [`:aria-owns="results?.length ? 'localsearch-list' : undefined"`, ''],
  ['aria-expanded="true"', ''],
  ['aria-haspopup="listbox"', ''],
  [`:role="results?.length ? 'listbox' : undefined"`, ''],
  [`:aria-selected="selectedIndex === index ? 'true' : 'false'"`, ''],
  ['role="option"', ''],
  [`:aria-activedescendant="selectedIndex > -1 ? ('localsearch-item-' + selectedIndex) : undefined"`, ''],
  ['aria-autocomplete="both"', ''],
  [`:aria-label="[...p.titles, p.title].join(' > ')"`, ''],
  ['<kbd :aria-label', '<kbd role="img" :aria-label'],
];

export const accessibleSearch = {
  name: 'accessible-search',
  enforce: 'pre',
  transform(code, id) {
    if (!id.endsWith('/VPLocalSearchBox.vue')) return;
    return CHANGES.reduce((text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`the search dialog of VitePress has no ${from} any more`);
      return text.replaceAll(from, to);
    }, code);
  },
};
