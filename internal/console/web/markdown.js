// What the platform takes for Markdown, drawn as nodes.

import { h } from './dom.js';
import { t } from './texts.js';

// --------------------------------------------------------------- blocks

const fenceStart = /^( *)(`{3,}|~{3,})([^`]*)$/;
const heading = /^ {0,3}(#{1,6})\s+(.*)$/;
const rule = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const quote = /^ {0,3}> ?/;
const item = /^(\s*)([-*+]|\d{1,9}[.)])(\s+)(.*)$/;
const separator = /^\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?$/; // of a trimmed line
const maxNesting = 8;
const maxTries = 50; // for the end of an emphasis, as text may be long and full of markers

function startsBlock(lines, i) {
  const l = lines[i];
  return fenceStart.test(l) || heading.test(l) || rule.test(l) || quote.test(l) || item.test(l) || startsTable(lines, i);
}

function startsTable(lines, i) {
  return lines[i].includes('|') && i + 1 < lines.length && lines[i + 1].includes('|') && separator.test(lines[i + 1].trim());
}

// blocks cuts Markdown into blocks {key, make}: the key is the block's source.
export function blocks(source, depth = 0) {
  const lines = source.replace(/\r\n?/g, '\n').split('\n');
  const out = [];
  for (let i = 0; i < lines.length;) {
    if (lines[i].trim() === '') { i++; continue; }
    const [end, make] = block(lines, i, depth);
    out.push({ key: lines.slice(i, end).join('\n'), make });
    i = end;
  }
  return out;
}

// block reads the block that begins at line i and returns where it ends and how it is made.
function block(lines, i, depth) {
  let m;
  if ((m = fenceStart.exec(lines[i]))) return codeBlock(lines, i, m);
  if ((m = heading.exec(lines[i]))) return [i + 1, () => h('h' + Math.min(6, m[1].length + 2), { class: 'h' + m[1].length }, inline(m[2].trim().replace(/ #+$/, '')))];
  if (rule.test(lines[i])) return [i + 1, () => h('hr')];
  if (startsTable(lines, i)) return table(lines, i);
  if (quote.test(lines[i]) && depth < maxNesting) {
    const end = span(lines, i, l => quote.test(l));
    const inner = lines.slice(i, end).map(l => l.replace(quote, '')).join('\n');
    return [end, () => h('blockquote', null, blocks(inner, depth + 1).map(b => b.make()))];
  }
  if (item.test(lines[i]) && depth < maxNesting) return list(lines, i, depth);
  let end = i + 1;
  while (end < lines.length && lines[end].trim() !== '' && !startsBlock(lines, end)) end++;
  return [end, () => h('p', null, inline(lines.slice(i, end).map(l => l.trim()).join('\n')))];
}

function span(lines, i, belongs) {
  while (i < lines.length && belongs(lines[i])) i++;
  return i;
}

function codeBlock(lines, i, m) {
  const close = new RegExp('^\\s*' + (m[2][0] === '`' ? '`' : '~') + '{' + m[2].length + ',}\\s*$');
  let end = span(lines, i + 1, l => !close.test(l));
  const indent = new RegExp('^ {0,' + m[1].length + '}');
  const text = lines.slice(i + 1, end).map(l => l.replace(indent, '')).join('\n');
  end = Math.min(end + 1, lines.length);
  return [end, () => code(text, m[3].trim().split(/\s/)[0])];
}

export function code(text, language) {
  const copy = h('button', { type: 'button', class: 'copy', onclick: () => {
    navigator.clipboard.writeText(text).then(() => { copy.textContent = t.copied; }, () => {});
  } }, t.copy);
  return h('div', { class: 'code' },
    h('div', { class: 'code-head' }, h('span', null, language === 'text' ? '' : language), copy),
    h('pre', { tabindex: 0 }, h('code', null, language === 'diff' ? diff(text) : text)));
}

// diff colors what was taken out and what was put in.
function diff(text) {
  return text.split('\n').map((l, i) => [i > 0 ? '\n' : null, h('span', { class: l[0] === '+' ? 'put' : l[0] === '-' ? 'taken' : null }, l)]);
}

function list(lines, i, depth) {
  const base = item.exec(lines[i])[1].length;
  const ordered = /\d/.test(item.exec(lines[i])[2]);
  const items = [];
  let end = i, width = 0;
  while (end < lines.length) {
    const m = item.exec(lines[end]);
    if (m && !rule.test(lines[end]) && m[1].length <= base + 1 && /\d/.test(m[2]) === ordered) {
      items.push([m[4]]);
      width = m[1].length + m[2].length + Math.min(m[3].length, 4);
    } else if (lines[end].trim() === '') {
      const next = span(lines, end, l => l.trim() === '');
      const more = next < lines.length && (indentOf(lines[next]) > base + 1 || (item.test(lines[next]) && indentOf(lines[next]) <= base + 1 && /\d/.test(item.exec(lines[next])[2]) === ordered));
      if (!more) break;
      items.at(-1).push('');
    } else if (indentOf(lines[end]) > base + 1 || (!startsBlock(lines, end) && lines[end - 1].trim() !== '')) {
      items.at(-1).push(lines[end].slice(Math.min(width, indentOf(lines[end]))));
    } else break;
    end++;
  }
  const start = ordered ? parseInt(item.exec(lines[i])[2], 10) : 1;
  return [end, () => h(ordered ? 'ol' : 'ul', { start: start === 1 ? null : start }, items.map(ls => listItem(ls, depth)))];
}

function indentOf(line) { return line.length - line.trimStart().length; }

function listItem(lines, depth) {
  const done = /^\[([ xX])\]\s+/.exec(lines[0]);
  const mark = done ? (done[1] === ' ' ? '☐ ' : '☑ ') : '';
  const inner = blocks(lines.join('\n').slice(done ? done[0].length : 0), depth + 1).map(b => b.make());
  if (inner.length > 0 && inner[0].tagName === 'P') inner.splice(0, 1, ...inner[0].childNodes);
  return h('li', null, mark, inner);
}

function table(lines, i) {
  const end = span(lines, i + 2, l => l.includes('|') && l.trim() !== '');
  const align = cells(lines[i + 1]).map(c => /^:-+:$/.test(c) ? 'center' : /-:$/.test(c) ? 'right' : 'left');
  const row = (line, tag) => {
    const texts = cells(line);
    return h('tr', null, align.map((a, k) => h(tag, { 'data-align': a, scope: tag === 'th' ? 'col' : null }, inline(texts[k] || ''))));
  };
  return [end, () => h('div', { class: 'table', tabindex: 0 }, h('table', null,
    h('thead', null, row(lines[i], 'th')), h('tbody', null, lines.slice(i + 2, end).map(l => row(l, 'td')))))];
}

// cells splits a row at its bars, but not at escaped ones or in inline code.
function cells(line) {
  const out = [''];
  let ticks = false;
  const s = line.trim().replace(/^\|/, '').replace(/\|$/, '');
  for (let i = 0; i < s.length; i++) {
    if (s[i] === '\\' && s[i + 1] === '|') { out[out.length - 1] += '|'; i++; continue; }
    if (s[i] === '`') ticks = !ticks;
    if (s[i] === '|' && !ticks) out.push(''); else out[out.length - 1] += s[i];
  }
  return out.map(c => c.trim());
}

// --------------------------------------------------------------- inline

const entities = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'", nbsp: '\u00a0' };
const linkAt = /\[([^\[\]\n]*)\]\( {0,4}<?([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)>?(?: {1,4}"[^"\n]*")? {0,4}\)/y;
const urlAt = /https?:\/\/[^\s<>"'`()\u3000-\u303f\uff00-\uffef]+/y;
const entityAt = /&(?:#(\d{1,6})|#x([0-9a-f]{1,6})|(\w{2,6}));/iy;
const tagAt = /<(font|text_tag|at|br)\b([^<>]*)>/iy;
const colors = ['grey', 'gray', 'red', 'orange', 'yellow', 'green', 'blue', 'purple', 'violet', 'turquoise', 'carmine', 'indigo', 'wathet', 'lime', 'neutral'];

function match(re, s, i) { re.lastIndex = i; return re.exec(s); }

// inline turns text within a block into nodes. A link holds no other link.
function inline(s, depth = 0, inLink = false) {
  const at = { depth, inLink, missing: new Set() }; // missing: markers that do not close in the rest of the text
  const out = [];
  let text = '';
  const flush = () => { if (text) out.push(text); text = ''; };
  for (let i = 0; i < s.length;) {
    const found = piece(s, i, at);
    if (!found) { text += s[i++]; continue; }
    if (typeof found[1] === 'string') text += found[1];
    else { flush(); out.push(found[1]); }
    i = found[0];
  }
  flush();
  return out;
}

// piece reads what begins at i: [end, string or node], or null when it is plain text.
function piece(s, i, at) {
  let m;
  switch (s[i]) {
    case '\n': return [i + 1, h('br')];
    case '\\': return /[!-/:-@[-`{-~]/.test(s[i + 1] || '') ? [i + 2, s[i + 1]] : null;
    case '`': return codeSpan(s, i, at);
    case '&':
      if (!(m = match(entityAt, s, i))) return null;
      return [i + m[0].length, m[3] ? entities[m[3].toLowerCase()] || m[0] : character(m[1] ? +m[1] : parseInt(m[2], 16))];
    case '!':
      if (s[i + 1] !== '[' || !(m = match(linkAt, s, i + 1))) return null;
      if (m[2].startsWith('img_')) return [i + 1 + m[0].length, h('img', { class: 'shot', src: 'api/file/' + encodeURIComponent(m[2]), alt: m[1] || t.picture })];
      return [i + 1 + m[0].length, h('span', { class: 'picture' }, t.unknown(m[1] || t.picture))];
    case '[':
      if (at.inLink || !(m = match(linkAt, s, i)) || !/^https?:\/\//i.test(m[2])) return null;
      return [i + m[0].length, link(m[2], inline(m[1], at.depth + 1, true))];
    case 'h':
      if (at.inLink || !(m = match(urlAt, s, i))) return null;
      m = m[0].replace(/[.,;:!?*_~]{1,9}$/, '');
      return [i + m.length, link(m, m)];
    case '<': return at.depth < maxNesting ? tag(s, i, at) : null;
    case '*': case '_': case '~': return at.depth < maxNesting ? emphasis(s, i, at) : null;
  }
  return null;
}

function character(n) { return n > 0 && n < 0x110000 ? String.fromCodePoint(n) : '\ufffd'; }

export function link(href, content) {
  return h('a', { href, target: '_blank', rel: 'noopener noreferrer' }, content);
}

// close finds marker at or after i, and remembers when there is none.
function close(s, marker, i, at) {
  if (at.missing.has(marker)) return -1;
  const end = s.indexOf(marker, i);
  if (end < 0) at.missing.add(marker);
  return end;
}

function codeSpan(s, i, at) {
  const ticks = /^`+/.exec(s.slice(i, i + 64))[0];
  let end = close(s, ticks, i + ticks.length, at);
  for (let tries = 0; end >= 0 && tries < maxTries; tries++) {
    const run = /^`+/.exec(s.slice(end, end + 64))[0].length;
    if (run === ticks.length) {
      const text = s.slice(i + run, end).replaceAll('\n', ' ');
      const padded = text.startsWith(' ') && text.endsWith(' ') && text.trim() !== '';
      return [end + run, h('code', null, padded ? text.slice(1, -1) : text)];
    }
    end = s.indexOf(ticks, end + run);
  }
  return [i + ticks.length, ticks];
}

const letter = /[\p{L}\p{N}]/u;

function emphasis(s, i, at) {
  const c = s[i];
  const twice = s[i + 1] === c;
  const marker = twice ? c + c : c;
  const start = i + marker.length;
  if ((c === '~' && !twice) || /\s/.test(s[start] || ' ') || (c === '_' && letter.test(s[i - 1] || ' '))) return null;
  const closes = end => !/\s/.test(s[end - 1]) && (twice || (s[end + 1] !== c && s[end - 1] !== c)) &&
    !(c === '_' && letter.test(s[end + marker.length] || ' '));
  let end = close(s, marker, start + 1, at);
  for (let tries = 0; end >= 0 && !closes(end); tries++) {
    end = tries < maxTries ? s.indexOf(marker, end + (s[end + 1] === c ? 2 : 1)) : -1;
  }
  if (end < 0) return twice ? [start, marker] : null;
  if (twice && s[end + 2] === c) end++; // ***both***
  const inner = inline(s.slice(start, end), at.depth + 1, at.inLink);
  return [end + marker.length, h(c === '~' ? 'del' : twice ? 'strong' : 'em', null, inner)];
}

// tag reads the few tags that the platform's Markdown has; all others are text.
function tag(s, i, at) {
  const m = match(tagAt, s, i);
  if (!m) return null;
  const name = m[1].toLowerCase();
  const inside = i + m[0].length;
  if (name === 'br') return [inside, h('br')];
  const end = close(s, '</' + name + '>', inside, at);
  if (end < 0) return null;
  const after = end + name.length + 3;
  if (name === 'at') return [after, h('span', { class: 'mention' }, '@' + (s.slice(inside, end) || 'user'))];
  const color = (/color\s*=\s*['"]?(\w+)/i.exec(m[2]) || [])[1];
  const inner = inline(s.slice(inside, end), at.depth + 1, at.inLink);
  return [after, h('span', { class: name, 'data-color': colors.includes(color) ? color : null }, inner)];
}
