// The page: its parts, and how they are painted when something has changed.

import { change, compose, edit, reply, say } from './compose.js';
import { paintContext, troubles } from './context.js';
import { $, h, patch } from './dom.js';
import { avatar, brief, initial, messageNode, paintMessage } from './message.js';
import { chosen, model, paint, paintWith, take } from './model.js';
import { called, lang, speak, t } from './texts.js';
import { paintTour, tour } from './tour.js';

const read = new Map();     // the last message that was looked at, by chat
const speakers = new Map(); // who speaks, by chat

function paintNow() {
  paintTop();
  const chat = chosen();
  if (!chat) return;
  paintSpeaker(chat);
  const last = chat.messages.at(-1);
  for (const c of model.chats) if (!read.has(c.id)) read.set(c.id, c.messages.length > 0 ? c.messages.at(-1).id : '');
  read.set(chat.id, last ? last.id : '');
  patch($('chats'), model.chats.map((c, i) => ({ key: c.id, make: () => chatNode(c, i), update: n => paintChat(n, c, c === chat) })));
  paintTalk(chat);
  paintContext(chat);
  paintTour();
}

function paintTop() {
  $('agent').textContent = model.loaded ? (model.simulated ? t.agentDouble : t.agentReal) : '';
  const pill = $('bridge');
  const [state, text] = !model.online ? ['off', t.pageDown] : model.bridge.state === 'killed' ? ['off', t.bridgeKilled] : model.unplugged ? ['off', t.bridgeUnplugged]
    : model.connections > 0 ? ['up', t.bridgeUp] : ['down', t.bridgeDown];
  pill.dataset.state = state;
  pill.textContent = text;
}

// --------------------------------------------------------------- chats

function chatNode(chat, i) {
  return h('button', { type: 'button', class: 'chat', id: 'chat-' + chat.n, 'data-chat': chat.id, onclick: () => choose(i) },
    chat.mode === 'group' ? h('span', { class: 'avatar group', 'data-avatar': 'group', 'aria-hidden': 'true' }, t.groupAvatar) : avatar(chat.name, false),
    h('span', { class: 'chat-text' }, h('span', { class: 'chat-name' }, h('span'), h('small')), h('span', { class: 'chat-brief' })), h('span', { class: 'unread', hidden: true }));
}

function paintChat(node, chat, current) {
  const last = chat.messages.at(-1);
  node.setAttribute('aria-current', current);
  node.firstElementChild.textContent = chat.mode === 'group' ? t.groupAvatar : initial(chat.name, false);
  const [name, kind] = node.querySelector('.chat-name').children; // kept: a click on what is replaced meanwhile is lost
  name.textContent = called(chat.name);
  kind.textContent = chat.mode === 'group' ? t.group : t.private;
  node.querySelector('.chat-brief').textContent = last ? (chat.mode === 'group' || last.bot ? called(last.sender.name) + t.colon : '') + brief(last) : t.noMessages;
  const news = chat.messages.length - 1 - chat.messages.findIndex(m => m.id === read.get(chat.id));
  const unread = node.querySelector('.unread');
  unread.hidden = news === 0;
  unread.textContent = news > 99 ? '99+' : String(news);
  unread.setAttribute('aria-label', t.unread(news));
  unread.setAttribute('role', 'img');
}

function paintTalk(chat) {
  $('chat-title').textContent = called(chat.name);
  $('chat-note').textContent = chat.mode === 'group' ? t.people(chat.members.length) + ' · ' + t.groupNote : t.private;
  const box = $('messages');
  if (box.dataset.chat !== chat.id) end.follows = true;
  box.dataset.chat = chat.id;
  patch(box, chat.messages.length === 0 ? [{ key: ['empty', lang, model.simulated].join(), make: () => h('p', { class: 'empty' }, model.simulated ? t.empty : t.emptyReal) }]
    : chat.messages.map(m => ({ key: m.id, make: () => followed(messageNode(m, { reply, edit })), update: n => paintMessage(n, m, chat) })));
  follow();
}

// --------------------------------------------------------------- the end of a chat

// end is where its reader is: at the end of the chat, which the page follows whatever grows, until she scrolls up.
const end = { follows: true, top: 0, sizes: new ResizeObserver(follow) };

function follow() {
  const box = $('messages');
  if (end.follows) box.scrollTop = box.scrollHeight;
  end.top = box.scrollTop;
}

function followed(node) {
  end.sizes.observe(node);
  return node;
}

function watchTheEnd() {
  const box = followed($('messages'));
  box.addEventListener('scroll', () => {
    const low = box.scrollHeight - box.scrollTop - box.clientHeight < 80;
    end.follows = low || (end.follows && box.scrollTop >= end.top); // what has just grown has not been followed yet
    end.top = box.scrollTop;
  });
}

function paintSpeaker(chat) {
  const select = $('speaker');
  const key = lang + chat.id + chat.members.map(u => u.id).join();
  if (select.dataset.key !== key) {
    const [owner, stranger] = [model.users.at(0), model.users.at(-1)].map(u => u && u.id);
    select.replaceChildren(...chat.members.map(u => h('option', { value: u.id }, called(u.name) + (u.id === owner ? t.isOwner : u.id === stranger ? t.isStranger : ''))));
    select.dataset.key = key;
    select.value = speakers.get(chat.id) || (chat.members[0] || {}).id || '';
  }
  select.disabled = chat.members.length < 2;
  $('mention-box').hidden = chat.mode !== 'group';
  const u = chat.members.find(x => x.id === select.value);
  $('composer').placeholder = t.placeholder(u ? called(u.name) : '');
}

function choose(i) {
  const old = chosen();
  model.chosen = i;
  try { sessionStorage.setItem('magpie.chat', i); } catch { /* forgotten with the page */ }
  change(old, chosen());
  paintNow();
  $('composer').focus();
}

// --------------------------------------------------------------- the page

function openContext(open) {
  document.body.classList.toggle('context-open', open);
  $('toggle-context').setAttribute('aria-expanded', open);
}

function translate() {
  document.documentElement.lang = lang === 'zh' ? 'zh-CN' : 'en';
  document.title = t.title;
  for (const el of document.querySelectorAll('[data-i18n]')) el.textContent = t[el.dataset.i18n];
  for (const el of document.querySelectorAll('[data-i18n-label]')) el.setAttribute('aria-label', t[el.dataset.i18nLabel]);
  $('lang').textContent = t.other;
  $('lang').setAttribute('aria-label', t.otherLabel);
  $('chips').replaceChildren(...t.tries.map(s => h('button', { type: 'button', class: 'chip', 'data-text': s, onclick: () => say(s) }, s)));
  paint();
}

function listen() {
  const source = new EventSource('api/events?lang=' + lang);
  source.onopen = () => { model.online = true; paint(); };
  source.onmessage = e => take(JSON.parse(e.data));
  source.onerror = () => {
    model.online = false;
    paint();
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
  };
}

function start() {
  try { model.chosen = Number(sessionStorage.getItem('magpie.chat')) || 0; } catch { /* the first one */ }
  paintWith(paintNow);
  compose();
  troubles();
  watchTheEnd();
  tour(() => { if (model.chosen !== 0) choose(0); });
  $('speaker').addEventListener('change', () => { speakers.set(chosen().id, $('speaker').value); paint(); });
  $('lang').addEventListener('click', () => { speak(lang === 'zh' ? 'en' : 'zh'); translate(); });
  $('toggle-context').addEventListener('click', () => openContext(!document.body.classList.contains('context-open')));
  document.addEventListener('keydown', e => { if (e.key === 'Escape') openContext(false); });
  translate();
  listen();
}

start();
