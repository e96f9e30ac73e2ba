// Tabs, with the keys and roles that screen readers expect.

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

interface TabsProps {
  readonly label: string;
  /** Title and content by name. Contents that were shown stay, so that nothing typed is lost. */
  readonly tabs: Readonly<Record<string, readonly [string, ComponentChildren]>>;
}

export function Tabs({ label, tabs }: TabsProps) {
  const names = Object.keys(tabs);
  const tab = useSignal(names[0]!);
  const seen = useSignal<readonly string[]>([tab.value]);
  const select = (name: string): void => {
    tab.value = name;
    if (!seen.value.includes(name)) seen.value = [...seen.value, name];
  };
  const id = (name: string): string => `${label}-${name}`.replaceAll(' ', '-');
  return (
    <>
      <div role="tablist" aria-label={label} class="tabs">
        {names.map((name, index) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${id(name)}`}
            aria-selected={name === tab.value}
            aria-controls={id(name)}
            tabIndex={name === tab.value ? 0 : -1}
            onClick={() => select(name)}
            onKeyDown={(event) => {
              const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
              if (step === 0) return;
              select(names[(index + step + names.length) % names.length]!);
              event.currentTarget.parentElement?.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
            }}
          >
            {tabs[name]![0]}
          </button>
        ))}
      </div>
      {names
        .filter((name) => seen.value.includes(name))
        .map((name) => (
          <div key={name} role="tabpanel" id={id(name)} aria-labelledby={`tab-${id(name)}`} hidden={name !== tab.value}>
            {tabs[name]![1]}
          </div>
        ))}
    </>
  );
}
