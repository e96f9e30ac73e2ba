// Functions that run in the page of a browser; each is sent there alone.

export function findWeakText() {
  const parse = (color) => {
    const canvas = new OffscreenCanvas(1, 1).getContext('2d');
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (color) => {
    const [r, g, b] = color.map((part) =>
      part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const backgroundOf = (element) => {
    if (element === null) return [255, 255, 255, 255];
    const color = parse(getComputedStyle(element).backgroundColor);
    return color[3] === 0 ? backgroundOf(element.parentElement) : color;
  };
  const weak = [];
  for (const element of document.querySelectorAll('#page *')) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== '');
    if (!own || !element.checkVisibility() || element.tagName === 'OPTION') continue;
    const one = luminance(parse(getComputedStyle(element).color));
    const other = luminance(backgroundOf(element));
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) weak.push(`${element.className} ${contrast.toFixed(2)} ${element.textContent.slice(0, 30)}`);
  }
  return weak;
}

export function findUnnamed() {
  return [...document.querySelectorAll('button, input, select, textarea, a')]
    .filter((element) => {
      const id = element.getAttribute('aria-labelledby');
      const named = id === null ? '' : document.getElementById(id)?.textContent;
      const text = (element.matches('button, a') ? element : element.closest('label'))?.textContent ?? '';
      return `${element.getAttribute('aria-label') ?? ''}${named ?? ''}${text}`.trim() === '';
    })
    .map((element) => element.outerHTML.slice(0, 100));
}

export function readTexts() {
  const names = ['title', 'placeholder', 'alt', 'aria-label'];
  const elements = [...document.querySelectorAll('*')];
  return {
    text: document.documentElement.textContent,
    labels: elements.flatMap((element) => names.map((name) => element.getAttribute(name) ?? '')).join('\n'),
    elements: document.querySelectorAll('main img, main script, main b, main em, main a').length,
    title: document.title,
    storage: JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie,
  };
}

export function readFocus() {
  const { activeElement } = document;
  return `${activeElement.closest('nav, aside')?.className ?? ''} ${activeElement.textContent}`;
}

export function readDescription(control) {
  const ids = ['aria-labelledby', 'aria-describedby'].flatMap((name) => control.getAttribute(name).split(' '));
  return ids.map((id) => document.getElementById(id).textContent);
}
