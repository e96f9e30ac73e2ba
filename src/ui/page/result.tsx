// A result: its parts as text, images and JSON, its error, and the pages of a large one.

import { useSignal } from '@preact/signals';
import type { Part, ToolResult } from '../../core/result.js';
import type { Handle } from '../../core/store.js';
import { formatBytes, formatDuration } from '../../core/text.js';
import { request } from './client.js';
import { Button, Chip, Code, ErrorBox } from './parts.js';
import { useTask } from './use-request.js';

// No SVG: it can contain markup.
const IMAGES = /^image\/(?:png|jpeg|gif|webp|avif)$/;

export function ResultView({ result }: { result: ToolResult }) {
  const { ok, content, structured, error, meta } = result;
  return (
    <section class="result" aria-label="Result">
      <h2>
        Result <Chip tone={ok ? 'good' : 'bad'}>{ok ? 'ok' : (error?.code ?? 'failed')}</Chip>{' '}
        <span class="note">{formatDuration(meta.durationMs)}</span>
        {meta.truncated === true && <Chip tone="warn">cut</Chip>}
      </h2>
      <ErrorBox error={error} />
      {meta.handle === undefined && content.map((part, index) => <PartView key={index} part={part} />)}
      {structured !== undefined && (
        <>
          <h3>Structured</h3>
          <Code label="Structured content" value={structured} />
        </>
      )}
      {meta.handle !== undefined && <Pages handle={meta.handle} />}
    </section>
  );
}

function PartView({ part }: { part: Part }) {
  switch (part.type) {
    case 'text':
      return <Code label="Text" value={toPlain(part.text)} />;
    case 'image':
      if (IMAGES.test(part.mimeType) && /^[\w+/=\s-]*$/.test(part.data))
        return <img alt="Part of the result" src={`data:${part.mimeType};base64,${part.data}`} />;
      return <p class="note">{`An image of type ${part.mimeType}, which is not shown.`}</p>;
    case 'resource':
      return <Code label={part.resource.uri} value={part.resource.text ?? `${part.resource.uri} (binary)`} />;
    case 'resource_link':
      return <Code label="Link to a resource" value={`${part.name}  ${part.uri}`} />;
    default:
      return <p class="note">{`${part.type} of type ${part.mimeType}`}</p>;
  }
}

// Colours of terminals are left out; all other invisible characters are shown.
function toPlain(text: string): string {
  return text.replace(/\u001b\[[\d;:]*m/g, '').replaceAll('\r\n', '\n');
}

function Pages({ handle: { id, size, shape, preview } }: { handle: Handle }) {
  const page = useSignal(0);
  const { value, error, isBusy, run } = useTask<ToolResult>();
  const turn = (to: number): void => {
    page.value = to;
    run(async () => (await request('GET /api/results/:handle/:page', { params: [id, to] })).result);
  };
  return (
    <section aria-label="Pages of the result">
      <div class="actions">
        <span class="note">{[formatBytes(size), shape, `stored as ${id}`].filter(Boolean).join(', ')}</span>
        <Button disabled={isBusy.value || page.value <= 1} onClick={() => turn(page.value - 1)}>
          Previous page
        </Button>
        <Button disabled={isBusy.value || error.value !== undefined} onClick={() => turn(page.value + 1)}>
          {page.value === 0 ? 'Read it' : 'Next page'}
        </Button>
        {page.value > 0 && <span class="note">page {page.value}</span>}
      </div>
      {page.value === 0 && <Code label="Beginning" value={toPlain(preview)} />}
      <ErrorBox error={error.value} />
      {value.value?.error !== undefined && <ErrorBox error={value.value.error} />}
      {value.value?.content.map((part, index) => (
        <PartView key={index} part={part} />
      ))}
    </section>
  );
}
