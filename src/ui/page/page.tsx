// The page: header, catalog, the panel in the middle, and live calls.

import type { ComponentType } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { CallPanel } from './call.js';
import { CallsPanel } from './calls.js';
import { CatalogPanel, isUnused } from './catalog.js';
import { ChangesPanel } from './changes.js';
import { HealthPanel } from './health.js';
import { InboxPanel } from './inbox.js';
import { Chip, ErrorBox } from './parts.js';
import { formatRoute, PANELS, type Panel, view } from './route.js';
import { ServersPanel } from './servers.js';
import { catalog, changes, isLoaded, offline, pending, session } from './store.js';
import { TokensPanel } from './tokens.js';
import { ToolPanel } from './tool.js';

const CONTENTS: Readonly<Record<Panel, ComponentType>> = {
  tools: ToolPanel,
  inbox: InboxPanel,
  calls: CallPanel,
  changes: ChangesPanel,
  tokens: TokensPanel,
  servers: ServersPanel,
  health: HealthPanel,
};

export function Page() {
  const { panel, name } = view.value;
  const Content = CONTENTS[panel];
  // A narrow window shows either the list or the middle, which has the error and the first steps.
  const isFirst = panel === 'tools' && isLoaded.value && catalog.value.items.every(isUnused);
  const isList = name === undefined && offline.value === undefined && !isFirst;
  const main = useRef<HTMLElement>(null);
  const last = useRef(`${panel} ${name}`);
  // What had the focus may be hidden now, as a list is in a narrow window. Then the content gets it.
  useLayoutEffect(() => {
    const isLost = document.activeElement === document.body || document.activeElement?.checkVisibility() === false;
    if (isLost && last.current !== `${panel} ${name}`) main.current?.focus();
    last.current = `${panel} ${name}`;
  }, [panel, name]);
  useEffect(() => {
    document.title = pending.value.length === 0 ? 'wield' : `(${pending.value.length}) wield`;
  }, [pending.value.length]);
  return (
    <div class={`page on-${panel} ${isList ? 'list' : 'detail'}`}>
      <Header />
      <CatalogPanel />
      <main ref={main} tabIndex={-1}>
        <ErrorBox error={offline.value} />
        {offline.value?.code !== 'denied' && <Content />}
      </main>
      <CallsPanel />
    </div>
  );
}

function Header() {
  const about = session.value;
  const problems = catalog.value.problems.filter(({ severity }) => severity === 'error').length;
  const counts: Partial<Record<Panel, readonly [number, string]>> = {
    inbox: [pending.value.length, 'waiting'],
    changes: [changes.value.length, 'waiting'],
    health: [problems, 'wrong'],
  };
  const widths = `${view.value.panel} ${Object.values(counts)}`;
  useEffect(() => {
    document.querySelector('.top [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [widths]);
  return (
    <header class="top">
      <a class="brand" href="#/tools">
        wield
      </a>
      <nav aria-label="Panels">
        {PANELS.map((panel) => (
          <a key={panel} href={formatRoute({ panel })} aria-current={view.value.panel === panel ? 'page' : undefined}>
            {panel}
            {counts[panel] !== undefined && <Badge count={counts[panel][0]} label={counts[panel][1]} />}
          </a>
        ))}
      </nav>
      {about !== undefined && (
        <span class="about">
          {!about.trusted && (
            <a href={formatRoute({ panel: 'tools' })}>
              <Chip tone="warn">not trusted</Chip>
            </a>
          )}{' '}
          <span class="note">{about.workdir}</span>
        </span>
      )}
    </header>
  );
}

function Badge({ count, label }: { count: number; label: string }) {
  if (count === 0) return null;
  return (
    <span class={label === 'wrong' ? 'badge bad' : 'badge'} role="status" aria-label={`${count} ${label}`}>
      {count}
    </span>
  );
}
