// Writing a message: text, files, quotes, edits, and the completion of commands.

import { call, toast, upload } from './acts.js';
import { $, h } from './dom.js';
import { chosen, me, model } from './model.js';
import { brief } from './message.js';
import { called, lang, t } from './texts.js';

const drafts = new Map(); // text and files that are not sent yet, by chat
let files = [];           // to be sent with the next message
let about = null;         // {message, kind: quote | topic | edit}

// --------------------------------------------------------------- sending

// say sends a text as whoever speaks, and returns which message it is; the files go first, since a question about them
// follows them. Null = it was not sent.
export async function say(text, relation = {}) {
  const chat = chosen();
  if (!chat || text.trim() === '') return null;
  $('messages').scrollTop = $('messages').scrollHeight;
  return call('api/say', { chat: chat.id, user: me(), text, mention: chat.mode === 'group' && $('mention').checked, ...relation });
}

async function submit() {
  const text = $('composer').value, chat = chosen(), sending = files, was = about;
  if (!chat || (text.trim() === '' && sending.length === 0)) return;
  $('composer').value = '';
  files = [];
  forget();
  const relation = was && was.kind !== 'edit' ? { reply: was.message.id, topic: was.kind === 'topic' } : {};
  let ok = true;
  for (const file of sending) ok = await upload(chat.id, me(), file, relation) !== null && ok;
  if (was && was.kind === 'edit') ok = await call('api/edit', { message: was.message.id, user: me(), text }) !== null;
  else if (text.trim() !== '') ok = await say(text, relation) && ok;
  if (!ok && $('composer').value === '') $('composer').value = text;
  fit();
}

// --------------------------------------------------------------- what it is about

// reply makes the next message quote one, or stand in its topic.
export function reply(message, topic) { relate({ message, kind: topic ? 'topic' : 'quote' }); }

// edit makes what is written take the place of a message.
export function edit(message) {
  relate({ message, kind: 'edit' });
  $('composer').value = message.text.replace(/^(@\S+ )+/, '');
  fit();
}

function relate(what) {
  about = what;
  paintAbout();
  $('composer').focus();
}

function forget() {
  about = null;
  paintAbout();
}

function paintAbout() {
  const chip = (label, drop) => h('span', { class: 'pending' }, h('span', null, label), h('button', { type: 'button', 'aria-label': t.remove, onclick: drop }, '×'));
  const labels = { quote: t.replyTo, topic: t.topicOf, edit: () => t.editing };
  $('pending').replaceChildren(...[
    about && chip(labels[about.kind](called(about.message.sender.name)) + brief(about.message), forget),
    ...files.map(f => chip(f.name, () => { files = files.filter(x => x !== f); paintAbout(); })),
  ].filter(Boolean));
}

// --------------------------------------------------------------- files

const most = 30 << 20; // bytes of a file that the platform takes

function add(list) {
  for (const file of list) {
    if (file.size > most) toast('error', t.errors.too_big);
    else if (file.size > 0) files.push(file);
  }
  paintAbout();
  $('composer').focus();
}

function takeFiles() {
  const talk = $('talk');
  const carries = e => [...(e.dataTransfer ? e.dataTransfer.types : [])].includes('Files');
  $('attach').addEventListener('click', () => $('file').click());
  $('file').addEventListener('change', () => { add([...$('file').files]); $('file').value = ''; });
  $('composer').addEventListener('paste', e => {
    const pasted = [...e.clipboardData.files];
    if (pasted.length === 0) return;
    e.preventDefault();
    add(pasted);
  });
  talk.addEventListener('dragover', e => { if (carries(e)) { e.preventDefault(); talk.classList.add('dragged'); } });
  talk.addEventListener('dragleave', e => { if (!talk.contains(e.relatedTarget)) talk.classList.remove('dragged'); });
  talk.addEventListener('drop', e => {
    talk.classList.remove('dragged');
    if (!carries(e)) return;
    e.preventDefault();
    add([...e.dataTransfer.files]);
  });
}

// --------------------------------------------------------------- commands

let picked = 0;

// written is the name that is being written; empty = none. On a Chinese keyboard the slash is another one.
function written() { return /^[/／]\S*$/.test($('composer').value) ? '/' + $('composer').value.slice(1).toLowerCase() : ''; }

function matches() { return written() ? model.commands.filter(c => c.name.startsWith(written())) : []; }

function paintCommands() {
  const list = matches(), box = $('commands');
  picked = Math.min(picked, Math.max(0, list.length - 1));
  box.hidden = list.length === 0;
  box.replaceChildren(...list.map((c, i) => h('div', { role: 'option', id: 'command-' + i, 'aria-selected': String(i === picked), onmousedown: e => { e.preventDefault(); complete(c); } },
    h('b', null, c.name), h('span', null, c[lang]))));
  if (list.length > 0) {
    $('composer').setAttribute('aria-activedescendant', 'command-' + picked);
    box.children[picked].scrollIntoView({ block: 'nearest' });
  } else $('composer').removeAttribute('aria-activedescendant');
}

function complete(command) {
  $('composer').value = command.name + ' ';
  picked = 0;
  fit();
  $('composer').focus();
}

// choosing handles the keys of the list of commands; false = they are for the text.
function choosing(e) {
  const list = matches();
  if ($('commands').hidden || list.length === 0) return false;
  switch (e.key) {
    case 'ArrowDown': picked = (picked + 1) % list.length; break;
    case 'ArrowUp': picked = (picked + list.length - 1) % list.length; break;
    case 'Tab': complete(list[picked]); break;
    case 'Enter': if (list[picked].name === written()) return false; complete(list[picked]); break;
    case 'Escape': $('commands').hidden = true; return true;
    default: return false;
  }
  e.preventDefault();
  paintCommands();
  return true;
}

// --------------------------------------------------------------- the box

export function fit() {
  const box = $('composer');
  box.style.height = 'auto';
  box.style.height = Math.min(box.scrollHeight + 2, 180) + 'px';
  paintCommands();
}

// change puts the draft of one chat away and takes out that of another.
export function change(from, to) {
  if (from) drafts.set(from.id, { text: $('composer').value, files });
  const draft = drafts.get(to.id) || { text: '', files: [] };
  files = draft.files;
  $('composer').value = draft.text;
  forget();
  fit();
}

export function compose() {
  $('form').addEventListener('submit', e => { e.preventDefault(); submit(); });
  $('composer').addEventListener('input', () => {
    picked = Math.max(0, matches().findIndex(c => c.name === written()));
    fit();
  });
  $('composer').addEventListener('blur', () => { $('commands').hidden = true; });
  $('composer').addEventListener('keydown', e => {
    if (e.isComposing || e.keyCode === 229 || choosing(e)) return; // 229: an input method is at work
    if (e.key === 'Escape' && about) forget();
    if (e.key !== 'Enter' || e.shiftKey) return;
    e.preventDefault();
    submit();
  });
  takeFiles();
}
