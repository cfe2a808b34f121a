// A message as the platform shows it, and what its readers can do with it.

import { call } from './acts.js';
import { paintCard } from './card.js';
import { $, h, patch } from './dom.js';
import { blocks, code, link } from './markdown.js';
import { me } from './model.js';
import { called, lang, named, t } from './texts.js';

// --------------------------------------------------------------- contents

function post(content) {
  const p = Array.isArray(content.content) ? content : Object.values(content).find(v => v && Array.isArray(v.content)) || { content: [] };
  return h('div', { class: 'md' }, p.title ? h('strong', { class: 'post-title' }, String(p.title)) : null,
    p.content.map(line => h('div', null, (Array.isArray(line) ? line : []).map(postNode))));
}

function postNode(n) {
  switch (n && n.tag) {
    case 'text': return named(n.text ?? '');
    case 'md': return blocks(named(n.text ?? '')).map(b => b.make());
    case 'a': return /^https?:\/\//i.test(n.href) ? link(n.href, String(n.text ?? n.href)) : String(n.text ?? '');
    case 'at': return h('span', { class: 'mention' }, '@' + called(String(n.user_name || n.user_id || '')));
    case 'img': return n.image_key ? h('img', { class: 'shot', src: 'api/file/' + encodeURIComponent(n.image_key), alt: t.picture }) : t.unknown(t.picture);
    case 'code_block': return code(String(n.text ?? ''), String(n.language ?? '').toLowerCase());
    case 'hr': return h('hr');
  }
  return h('span', { class: 'unknown' }, String((n && (n.text || n.emoji_type)) || t.unknown(String(n && n.tag))));
}

function words(text) {
  const m = /^((?:@\S+ )+)([\s\S]*)$/.exec(text);
  return h('div', { class: 'words' }, m ? [h('span', { class: 'mention' }, named(m[1].trim())), ' ' + named(m[2])] : named(text));
}

function attachment(file) {
  const src = 'api/file/' + encodeURIComponent(file.key);
  if (file.picture) return h('a', { href: src, target: '_blank', rel: 'noopener' }, h('img', { class: 'shot', src, alt: file.name || t.picture }));
  return h('a', { class: 'file', href: src, download: file.name }, h('span', null, file.name || t.file),
    h('small', null, t.bytes(file.size)));
}

// --------------------------------------------------------------- reactions

// The emoji types that the platform knows, as far as the bot and this page use them.
const emoji = { Typing: '⌨️', DONE: '✅', CrossMark: '❌', THUMBSUP: '👍', OK: '👌', HEART: '❤️', APPLAUSE: '👏', LAUGH: '😄', THINKING: '🤔' };
const offered = ['THUMBSUP', 'HEART', 'LAUGH'];

function react(m, kind) { return call('api/react', { message: m.id, user: me(), emoji: kind }); }

function reactions(m) {
  return [...new Set(m.reactions || [])].map(kind => h('button', { type: 'button', class: 'reaction', 'data-emoji': kind, title: kind, onclick: () => react(m, kind) }, emoji[kind] || kind));
}

// --------------------------------------------------------------- messages

export function clock(at) { return new Date(at).toLocaleTimeString(lang === 'zh' ? 'zh-CN' : 'en-GB', { hour12: false }); }

// initial is what an avatar shows in the language of the page.
export function initial(name, bot) { return bot ? t.botAvatar : [...called(name)][0] || '?'; }

export function avatar(name, bot) {
  const hue = [...name].reduce((n, c) => n + c.codePointAt(0), 0) % 5;
  return h('span', { class: 'avatar' + (bot ? ' bot' : ''), 'data-hue': hue, 'aria-hidden': 'true' }, initial(name, bot));
}

// messageNode makes the node of a message; doing carries out what its buttons are for.
export function messageNode(m, doing) {
  const node = h('article', { class: 'message', 'data-id': m.id, 'data-type': m.type, 'data-bot': m.bot ? '1' : null },
    avatar(m.sender.name, m.bot),
    h('div', { class: 'stack' },
      h('div', { class: 'who' }, h('b', null, called(m.sender.name)), h('time', { datetime: m.at }, clock(m.at)), h('span', { class: 'meta' }),
        h('button', { type: 'button', class: 'more', 'aria-expanded': 'false', onclick: e => unfold(node, e.currentTarget, doing) }, '⋯')),
      h('div', { class: 'deeds', role: 'group', hidden: true }),
      h('div', { class: 'quoted' }), h('div', { class: 'show' }), h('div', { class: 'reactions' })));
  return node;
}

// unfold shows what can be done with a message.
function unfold(node, more, doing) {
  const box = node.querySelector('.deeds'), m = node.magpieMessage;
  box.hidden = !box.hidden;
  more.setAttribute('aria-expanded', String(!box.hidden));
  if (box.hidden) return;
  const deed = (name, label, run) => h('button', { type: 'button', 'data-deed': name, onclick: () => { box.hidden = true; more.setAttribute('aria-expanded', 'false'); run(); } }, label);
  const own = isMine(m);
  box.setAttribute('aria-label', t.deeds);
  box.replaceChildren(...[
    deed('quote', t.quote, () => doing.reply(m, false)), deed('topic', t.inTopic, () => doing.reply(m, true)),
    offered.map(kind => h('button', { type: 'button', 'data-deed': kind, title: kind, onclick: () => react(m, kind) }, emoji[kind])),
    own && m.type === 'text' && deed('edit', t.edit, () => doing.edit(m)), own && deed('recall', t.recall, () => call('api/recall', { message: m.id, user: me() })),
  ].flat().filter(Boolean));
}

function isMine(m) { return !m.bot && m.sender.id === me(); }

function quotedIn(m, chat) {
  const parent = !m.deleted && chat.messages.find(x => x.id === m.parent);
  return parent ? t.replyTo(called(parent.sender.name)) + brief(parent) : '';
}

export function paintMessage(node, m, chat) {
  node.magpieMessage = m;
  const key = [m.rev, lang, isMine(m), me()].join();
  if (node.magpieRev === key) return;
  node.magpieRev = key;
  node.classList.toggle('mine', isMine(m));
  node.classList.toggle('recalled', Boolean(m.deleted));
  node.classList.toggle('in-topic', Boolean(m.thread));
  node.querySelector('.avatar').textContent = initial(m.sender.name, m.bot);
  node.querySelector('.who b').textContent = called(m.sender.name);
  node.querySelector('.more').hidden = Boolean(m.deleted);
  node.querySelector('.more').setAttribute('aria-label', t.deeds);
  node.querySelector('.quoted').textContent = quotedIn(m, chat);
  node.querySelector('.meta').replaceChildren(...[m.thread && h('span', { class: 'badge' }, t.topic),
    m.streaming && h('span', { class: 'badge live' }, t.streaming), m.updates > 0 && !m.deleted ? (m.card ? t.updates(m.updates) : m.bot ? '' : t.edited) : ''].filter(Boolean));
  node.querySelector('.reactions').replaceChildren(...reactions(m));
  const kind = m.deleted ? 'recall' : m.card ? 'card' : m.file ? 'file' : m.type === 'post' && m.post ? 'post' : 'text';
  const contents = { recall: () => t.recalled, post: () => post(m.post), file: () => attachment(m.file), text: () => words(m.text) };
  const card = { key: 'card', make: () => h('div', { class: 'card' }), update: n => paintCard(n, m) };
  patch(node.querySelector('.show'), [kind === 'card' ? card : { key: kind + key, make: () => h('div', { class: 'bubble' + (kind === 'file' ? ' holds-file' : '') }, contents[kind]()) }]);
}

// brief is a message in one line.
export function brief(m) {
  if (m.deleted) return t.recalled;
  if (m.file) return t.unknown(m.file.picture ? t.picture : m.file.name || t.file);
  const summary = m.card && m.card.config && m.card.config.summary && m.card.config.summary.content;
  return named(summary || m.text || '').slice(0, 400).replace(/<[^>]*>|[*`#|\u200b]/g, '').replace(/\s+/g, ' ').trim().slice(0, 80);
}
