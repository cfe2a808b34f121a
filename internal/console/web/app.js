import { call } from './acts.js';
import { paintCard } from './card.js';
import { $, h, patch } from './dom.js';
import { blocks, code, link } from './markdown.js';
import { lang, speak, t } from './texts.js';

const suggestions = ['我叫小明', '我叫什么名字？', '写一篇长文', '数到 300', '/help', '/new', '/reset', '/stop', '/status'];

// --------------------------------------------------------------- posts and texts

function post(content) {
  const p = Array.isArray(content.content) ? content : Object.values(content).find(v => v && Array.isArray(v.content)) || { content: [] };
  return h('div', { class: 'md' }, p.title ? h('strong', { class: 'post-title' }, String(p.title)) : null,
    p.content.map(line => h('div', null, (Array.isArray(line) ? line : []).map(postNode))));
}

function postNode(n) {
  switch (n && n.tag) {
    case 'text': return String(n.text ?? '');
    case 'md': return blocks(String(n.text ?? '')).map(b => b.make());
    case 'a': return /^https?:\/\//i.test(n.href) ? link(n.href, String(n.text ?? n.href)) : String(n.text ?? '');
    case 'at': return h('span', { class: 'mention' }, '@' + String(n.user_name || n.user_id || ''));
    case 'code_block': return code(String(n.text ?? ''), String(n.language ?? '').toLowerCase());
    case 'hr': return h('hr');
  }
  return h('span', { class: 'unknown' }, String((n && (n.text || n.emoji_type)) || t.unknown(String(n && n.tag))));
}

function words(text) {
  const m = /^((?:@\S+ )+)([\s\S]*)$/.exec(text);
  return h('div', { class: 'words' }, m ? [h('span', { class: 'mention' }, m[1].trim()), ' ' + m[2]] : text);
}

// --------------------------------------------------------------- messages

function clock(at) { return new Date(at).toLocaleTimeString(lang === 'zh' ? 'zh-CN' : 'en-GB', { hour12: false }); }

function avatar(name, bot) {
  const hue = [...name].reduce((n, c) => n + c.codePointAt(0), 0) % 5;
  return h('span', { class: 'avatar' + (bot ? ' bot' : ''), 'data-hue': hue, 'aria-hidden': 'true' }, bot ? '鹊' : [...name][0] || '?');
}

function messageNode(m) {
  return h('article', { class: 'message', 'data-id': m.id, 'data-type': m.type, 'data-bot': m.bot ? '1' : null },
    avatar(m.sender.name, m.bot),
    h('div', { class: 'stack' },
      h('div', { class: 'who' }, h('b', null, m.sender.name), h('time', { datetime: m.at }, clock(m.at)), h('span', { class: 'meta' })),
      h('div', { class: 'quoted' }), h('div', { class: 'show' }), h('div', { class: 'reactions' })));
}

function paintMessage(node, m, chat) {
  const key = [m.rev, lang, mine(m)].join();
  if (node.magpieRev === key) return;
  node.magpieRev = key;
  node.classList.toggle('mine', mine(m));
  node.classList.toggle('recalled', Boolean(m.deleted));
  const parent = chat.messages.find(x => x.id === m.parent);
  node.querySelector('.quoted').textContent = parent && !m.deleted ? t.replyTo(parent.sender.name) + brief(parent) : '';
  node.querySelector('.meta').replaceChildren(...[m.thread && h('span', { class: 'badge' }, t.topic),
    m.streaming && h('span', { class: 'badge live' }, t.streaming), m.updates > 0 && !m.deleted && m.card ? t.updates(m.updates) : ''].filter(Boolean));
  node.querySelector('.reactions').replaceChildren(...(m.reactions || []).map(r => h('span', null, r)));
  const kind = m.deleted ? 'recall' : m.card ? 'card' : m.type === 'post' && m.post ? 'post' : 'text';
  const card = { key: 'card', make: () => h('div', { class: 'card' }), update: n => paintCard(n, m) };
  const once = { key: kind + key, make: () => h('div', { class: 'bubble' }, kind === 'recall' ? t.recalled : kind === 'post' ? post(m.post) : words(m.text)) };
  patch(node.querySelector('.show'), [kind === 'card' ? card : once]);
}

function mine(m) { return !m.bot && m.sender.id === $('speaker').value; }

// brief is a message in one line.
function brief(m) {
  if (m.deleted) return t.recalled;
  const summary = m.card && m.card.config && m.card.config.summary && m.card.config.summary.content;
  return String(summary || m.text || '').slice(0, 400).replace(/<[^>]*>|[*`#|\u200b]/g, '').replace(/\s+/g, ' ').trim().slice(0, 80);
}

// --------------------------------------------------------------- state

const model = { users: [], chats: [], violations: { count: 0, latest: [] }, connections: 0, chosen: 0, online: false, loaded: false };
const read = new Map();    // revision of the last message that was looked at, by chat
const drafts = new Map();  // by chat
const speakers = new Map();
const lines = new Map();   // what was told about a lost session, by chat

function take(next) {
  const before = new Map(next.full ? [] : model.chats.map(c => [c.id, c]));
  for (const chat of next.chats || []) {
    const old = before.get(chat.id);
    const known = new Map(old ? old.messages.map(m => [m.id, m]) : []);
    chat.messages = chat.messages.map(m => m.look ? { id: m.id, rev: m.rev, ...m.origin, ...m.look } : known.get(m.id)).filter(Boolean);
    chat.turns = chat.turns || (old ? old.turns : []);
  }
  Object.assign(model, next, { chats: next.chats || [], loaded: true });
  paint();
}

function chosen() { return model.chats[Math.min(model.chosen, model.chats.length - 1)]; }

// --------------------------------------------------------------- painting

let queued = false;

function paint() {
  if (queued) return;
  queued = true;
  requestAnimationFrame(() => { queued = false; paintNow(); });
}

function paintNow() {
  paintTop();
  const chat = chosen();
  if (!chat) return;
  paintSpeaker(chat);
  const last = chat.messages.at(-1);
  read.set(chat.id, last ? last.id : '');
  patch($('chats'), model.chats.map((c, i) => ({ key: c.id, make: () => chatNode(c, i), update: n => paintChat(n, c, c === chat) })));
  paintTalk(chat);
  paintContext(chat);
}

function paintTop() {
  $('agent').textContent = model.loaded ? (model.simulated ? t.agentDouble : t.agentReal) : '';
  const pill = $('bridge');
  pill.dataset.state = !model.online ? 'off' : model.connections > 0 ? 'up' : 'down';
  pill.textContent = !model.online ? t.pageDown : model.connections > 0 ? t.bridgeUp : t.bridgeDown;
}

function chatNode(chat, i) {
  return h('button', { type: 'button', class: 'chat', id: 'chat-' + chat.n, 'data-chat': chat.id, onclick: () => choose(i) },
    chat.mode === 'group' ? h('span', { class: 'avatar group', 'aria-hidden': 'true' }, '群') : avatar(chat.name, false),
    h('span', { class: 'chat-text' }, h('span', { class: 'chat-name' }, h('span'), h('small')), h('span', { class: 'chat-brief' })), h('span', { class: 'dot', hidden: true }));
}

function paintChat(node, chat, current) {
  const last = chat.messages.at(-1);
  node.setAttribute('aria-current', current);
  const [name, kind] = node.querySelector('.chat-name').children; // kept: a click on what is replaced meanwhile is lost
  name.textContent = chat.name;
  kind.textContent = chat.mode === 'group' ? t.group : t.private;
  node.querySelector('.chat-brief').textContent = last ? (chat.mode === 'group' || last.bot ? last.sender.name + '：' : '') + brief(last) : t.noMessages;
  node.querySelector('.dot').hidden = !last || read.get(chat.id) === last.id;
}

function paintTalk(chat) {
  $('chat-title').textContent = chat.name;
  $('chat-note').textContent = chat.mode === 'group' ? t.people(chat.members.length) + ' · ' + t.groupNote : t.private;
  const box = $('messages');
  const other = box.dataset.chat !== chat.id;
  const low = other || box.scrollHeight - box.scrollTop - box.clientHeight < 80;
  box.dataset.chat = chat.id;
  patch(box, chat.messages.length === 0 ? [{ key: 'empty ' + lang, make: () => h('p', { class: 'empty' }, t.empty) }]
    : chat.messages.map(m => ({ key: m.id, make: () => messageNode(m), update: n => paintMessage(n, m, chat) })));
  if (low) box.scrollTop = box.scrollHeight;
}

function paintSpeaker(chat) {
  const select = $('speaker');
  const key = chat.id + chat.members.map(u => u.id).join();
  if (select.dataset.key !== key) {
    select.replaceChildren(...chat.members.map(u => h('option', { value: u.id }, u.name)));
    select.dataset.key = key;
    select.value = speakers.get(chat.id) || (chat.members[0] || {}).id || '';
  }
  select.disabled = chat.members.length < 2;
  $('mention-box').hidden = chat.mode !== 'group';
  const name = select.selectedOptions[0] ? select.selectedOptions[0].textContent : '';
  $('composer').placeholder = t.placeholder(name);
}

// --------------------------------------------------------------- the context panel

function paintContext(chat) {
  $('lose-box').hidden = !model.can_lose;
  $('lost-line').hidden = !lines.has(chat.id);
  $('lost-line').textContent = lines.get(chat.id) || '';
  const v = model.violations;
  const bad = v.count > 0;
  const key = lang + v.count;
  const box = $('violations');
  if (box.magpieKey !== key) {
    box.magpieKey = key;
    box.classList.toggle('bad', bad);
    box.dataset.count = v.count;
    box.replaceChildren(h('div', { class: 'count' }, h('b', null, String(v.count)), h('span', null, t.violations)),
      bad ? h('ul', null, v.latest.map(x => h('li', null, h('code', null, x.rule), ' ' + x.detail))) : h('p', null, t.noViolations));
  }
  patch($('turns'), chat.turns.length === 0 ? [{ key: 'none' + lang, make: () => h('p', { class: 'empty' }, t.noTurns) }]
    : chat.turns.map(turn => ({ key: [lang, chat.id, turn.turn, turn.at].join(), make: () => turnNode(turn) })));
}

function turnNode(turn) {
  const kind = turn.live ? 'live' : turn.resume ? 'resume' : 'none';
  const state = turn.live ? t.live : turn.resume ? t.resume : t.none;
  const stat = (label, value) => h('div', null, h('dt', null, label), h('dd', null, value));
  return h('section', { class: 'turn', 'data-turn': turn.turn, 'data-state': kind, 'data-lost': turn.lost ? '1' : null, 'aria-label': t.turn(turn.turn) },
    h('div', { class: 'turn-head' }, h('b', null, t.turn(turn.turn)), h('time', { datetime: turn.at }, clock(turn.at)), h('span', { class: 'space' }),
      turn.lost ? h('span', { class: 'badge healed' }, t.healed) : null, h('span', { class: 'badge ' + kind }, (kind === 'none' ? t.session + '：' : '') + state)),
    turn.question ? h('p', { class: 'question', title: turn.question }, turn.question) : null,
    turn.resume ? h('p', { class: 'session' }, t.session + ' ', h('code', null, turn.resume)) : null,
    turn.lost ? h('p', { class: 'lost' }, t.lostCause + '：' + turn.lost) : null,
    h('dl', null, stat(t.statMessages, turn.messages), stat(t.statUser, turn.user_messages), stat(t.statChars, turn.chars), stat(t.statTokens, turn.tokens), stat(t.statBuild, duration(turn.build_ns))),
    turn.prefix ? h('details', { class: 'prefix' }, h('summary', null, t.prefix, h('small', null, t.prefixSize([...turn.prefix].length))), h('pre', { tabindex: 0 }, turn.prefix))
      : h('p', { class: 'no-prefix' }, t.noPrefix));
}

function duration(ns) {
  if (ns < 1e6) return Math.round(ns / 1e3) + ' µs';
  return ns < 1e9 ? (ns / 1e6).toFixed(ns < 1e7 ? 1 : 0) + ' ms' : (ns / 1e9).toFixed(2) + ' s';
}

// --------------------------------------------------------------- acts

async function say(text) {
  const chat = chosen();
  if (!chat || text.trim() === '') return false;
  $('messages').scrollTop = $('messages').scrollHeight;
  return await call('api/say', { chat: chat.id, user: $('speaker').value, text, mention: chat.mode === 'group' && $('mention').checked }) !== null;
}

async function lose() {
  const chat = chosen();
  if (!chat) return;
  $('lose-session').disabled = true;
  const answer = await call('api/lose', { chat: chat.id });
  $('lose-session').disabled = false;
  if (answer) lines.set(chat.id, clock(Date.now()) + '  ' + answer.line);
  paint();
}

function choose(i) {
  const old = chosen();
  if (old) drafts.set(old.id, $('composer').value);
  model.chosen = i;
  try { sessionStorage.setItem('magpie.chat', i); } catch { /* forgotten with the page */ }
  $('composer').value = drafts.get(chosen().id) || '';
  fit();
  paintNow();
  $('composer').focus();
}

function openContext(open) {
  document.body.classList.toggle('context-open', open);
  $('toggle-context').setAttribute('aria-expanded', open);
}

function fit() {
  const box = $('composer');
  box.style.height = 'auto';
  box.style.height = Math.min(box.scrollHeight + 2, 180) + 'px';
}

function translate() {
  document.documentElement.lang = lang === 'zh' ? 'zh-CN' : 'en';
  document.title = t.title;
  for (const el of document.querySelectorAll('[data-i18n]')) el.textContent = t[el.dataset.i18n];
  for (const el of document.querySelectorAll('[data-i18n-label]')) el.setAttribute('aria-label', t[el.dataset.i18nLabel]);
  $('lang').textContent = t.other;
  $('lang').setAttribute('aria-label', t.otherLabel);
  paint();
}

// --------------------------------------------------------------- start

function listen() {
  const source = new EventSource('api/events');
  source.onopen = () => { model.online = true; paint(); };
  source.onmessage = e => take(JSON.parse(e.data));
  source.onerror = () => {
    model.online = false;
    paint();
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
  };
}

async function submit() {
  const text = $('composer').value;
  if (text.trim() === '') return;
  $('composer').value = '';
  fit();
  if (!await say(text) && $('composer').value === '') {
    $('composer').value = text;
    fit();
  }
}

function start() {
  try { model.chosen = Number(sessionStorage.getItem('magpie.chat')) || 0; } catch { /* the first one */ }
  $('chips').replaceChildren(...suggestions.map(s => h('button', { type: 'button', class: 'chip', 'data-text': s, onclick: () => say(s) }, s)));
  $('form').addEventListener('submit', e => { e.preventDefault(); submit(); });
  $('composer').addEventListener('input', fit);
  $('composer').addEventListener('keydown', e => {
    if (e.key !== 'Enter' || e.shiftKey || e.isComposing || e.keyCode === 229) return; // 229: an input method is at work
    e.preventDefault();
    submit();
  });
  $('speaker').addEventListener('change', () => { speakers.set(chosen().id, $('speaker').value); paint(); });
  $('lose-session').addEventListener('click', lose);
  $('lang').addEventListener('click', () => { speak(lang === 'zh' ? 'en' : 'zh'); translate(); });
  $('toggle-context').addEventListener('click', () => openContext(!document.body.classList.contains('context-open')));
  document.addEventListener('keydown', e => { if (e.key === 'Escape') openContext(false); });
  translate();
  listen();
}

start();
