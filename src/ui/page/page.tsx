// The page: header, catalog, the panel in the middle, and live calls.

import type { ComponentType } from 'preact';
import { CallPanel } from './call.js';
import { CallsPanel } from './calls.js';
import { CatalogPanel } from './catalog.js';
import { ChangesPanel } from './changes.js';
import { HealthPanel } from './health.js';
import { InboxPanel } from './inbox.js';
import { isHelpOpen } from './keys.js';
import { Chip, ErrorBox } from './parts.js';
import { formatRoute, PANELS, type Panel, view } from './route.js';
import { ServersPanel } from './servers.js';
import { changes, offline, pending, session } from './store.js';
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

const KEYS = [
  ['/', 'search the catalog'],
  ['j k', 'next and previous item'],
  ['r', 'show the plan, then run it'],
  ['a', 'open the inbox, then approve the shown call once'],
  ['Esc', 'leave a field'],
  ['?', 'these keys'],
] as const;

export function Page() {
  const { panel, name } = view.value;
  const Content = CONTENTS[panel];
  return (
    <div class={`page on-${panel} ${name === undefined ? 'list' : 'detail'}`}>
      <Header />
      <CatalogPanel />
      <main>
        {offline.value !== undefined && <ErrorBox error={offline.value} />}
        {isHelpOpen.value && <Help />}
        {offline.value?.code !== 'denied' && <Content />}
      </main>
      <CallsPanel />
    </div>
  );
}

function Header() {
  const about = session.value;
  const counts: Partial<Record<Panel, number>> = { inbox: pending.value.length, changes: changes.value.length };
  return (
    <header class="top">
      <a class="brand" href="#/tools">
        wield
      </a>
      <nav aria-label="Panels">
        {PANELS.map((panel) => (
          <a key={panel} href={formatRoute({ panel })} aria-current={view.value.panel === panel ? 'page' : undefined}>
            {panel}
            {(counts[panel] ?? 0) > 0 && (
              <span class="badge" role="status" aria-label={`${counts[panel]} waiting`}>
                {counts[panel]}
              </span>
            )}
          </a>
        ))}
      </nav>
      {about !== undefined && (
        <span class="about">
          {!about.trusted && <Chip tone="warn">not trusted</Chip>} <span class="note">{about.workdir}</span>
        </span>
      )}
    </header>
  );
}

function Help() {
  return (
    <dialog open aria-label="Keys" class="box">
      <dl class="facts">
        {KEYS.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  );
}
