'use strict';

// ---------------------------------------------------------------- texts

const texts = {
  zh: {
    title: '鹊桥 Magpie · 演练场', playground: '演练场', other: 'EN', otherLabel: 'Switch to English',
    agentReal: '智能体：真实 Claude Code CLI', agentDouble: '智能体：真实 Claude Code CLI，模型为本机替身（未登录）',
    chats: '会话列表', messages: '消息', suggestions: '快捷消息', speakAs: '发言身份', composer: '输入消息',
    keys: 'Enter 发送 · Shift+Enter 换行', send: '发送', context: '上下文', contextFull: '上下文 / Context',
    contextAbout: '每一轮对话交给智能体的上下文，最新的在最上面。',
    lose: '偷偷删除会话', loseAbout: '绕过鹊桥，直接删掉智能体磁盘上的会话。接着问一句“我叫什么名字？”：鹊桥应发现会话丢失，换一个新会话并注入历史前缀，答案仍然正确——看下方新一轮的“已自愈”和“历史前缀”。',
    private: '私聊', group: '群聊', people: n => n + ' 人', groupNote: '群里需要 @Magpie 才会回答',
    placeholder: n => '以“' + n + '”的身份说点什么…', empty: '还没有消息。试试下面的快捷消息。', noMessages: '暂无消息',
    recalled: '此消息已撤回', streaming: '生成中', updates: n => '更新 ' + n + ' 次', replyTo: n => '回复 ' + n + '：', topic: '话题',
    noTurns: '这个会话还没有产生过上下文。', turn: n => '第 ' + n + ' 轮', live: '进程存活', resume: '续接会话', none: '无',
    session: '会话', healed: '已自愈', lostCause: '会话丢失', statMessages: '消息', statUser: '用户消息', statChars: '字符', statTokens: 'Token',
    statBuild: '构建耗时', prefix: '历史前缀', noPrefix: '未注入历史', prefixSize: n => n + ' 字', question: '问题',
    violations: '平台规则违规', noViolations: '机器人没有违反过任何平台规则', bridgeUp: '长连接已建立', bridgeDown: '机器人未连接', pageDown: '与本页断开，重连中…',
    copy: '复制', copied: '已复制', picture: '图片', unknown: t => '[' + t + ']', done: '已完成',
    errors: { empty: '消息不能为空', too_long: '消息太长', no_chat: '没有这个会话', no_user: '此人不在这个会话里', no_message: '没有这条消息',
      press: '按钮没有成功', incomplete: '表单还没有填好', lose: '删除会话没有成功', not_offered: '这里不能删除会话', request: '请求有误', internal: '出错了', network: '连接不上演练场' },
  },
  en: {
    title: 'Magpie · Playground', playground: 'Playground', other: '中文', otherLabel: '切换到中文',
    agentReal: 'Agent: real Claude Code CLI', agentDouble: 'Agent: real CLI, model double (not logged in)',
    chats: 'Chats', messages: 'Messages', suggestions: 'Suggestions', speakAs: 'Speak as', composer: 'Write a message',
    keys: 'Enter sends · Shift+Enter new line', send: 'Send', context: 'Context', contextFull: 'Context / 上下文',
    contextAbout: 'What the agent was given for each turn, newest first.',
    lose: 'Lose the session', loseAbout: 'Deletes the agent\'s session on disk behind the bridge\'s back. Then ask "我叫什么名字？": the bridge should notice the loss, begin a new session and send the history as a prefix, and the answer should still be right. Watch for "Healed" and "History prefix" on the new turn below.',
    private: 'Private chat', group: 'Group', people: n => n + ' people', groupNote: 'In a group the bot answers when mentioned',
    placeholder: n => 'Say something as ' + n + '…', empty: 'No messages yet. Try a suggestion below.', noMessages: 'No messages',
    recalled: 'This message was recalled', streaming: 'writing', updates: n => n + (n === 1 ? ' update' : ' updates'), replyTo: n => 'Reply to ' + n + ': ', topic: 'Topic',
    noTurns: 'No context has been built for this chat yet.', turn: n => 'Turn ' + n, live: 'live', resume: 'resumed', none: 'none',
    session: 'Session', healed: 'Healed', lostCause: 'Session lost', statMessages: 'Messages', statUser: 'From users', statChars: 'Chars', statTokens: 'Tokens',
    statBuild: 'Built in', prefix: 'History prefix', noPrefix: 'No history sent', prefixSize: n => n + ' chars', question: 'Question',
    violations: 'Platform rules broken', noViolations: 'The bot has broken no rule of the platform', bridgeUp: 'Bot connected', bridgeDown: 'Bot not connected', pageDown: 'Page disconnected, trying again…',
    copy: 'Copy', copied: 'Copied', picture: 'picture', unknown: t => '[' + t + ']', done: 'Done',
    errors: { empty: 'The message is empty', too_long: 'The message is too long', no_chat: 'No such chat', no_user: 'Not a member of this chat', no_message: 'No such message',
      press: 'The button did not work', incomplete: 'The form is not complete', lose: 'The session was not lost', not_offered: 'Not offered here', request: 'Bad request', internal: 'Something went wrong', network: 'The playground cannot be reached' },
  },
};

const suggestions = ['我叫小明', '我叫什么名字？', '写一篇长文', '数到 300', '/help', '/new', '/reset', '/stop', '/status'];

let lang = recall('lang') === 'en' ? 'en' : 'zh';
let t = texts[lang];

function recall(key) {
  try { return localStorage.getItem('magpie.' + key); } catch { return null; }
}

function remember(key, value) {
  try { localStorage.setItem('magpie.' + key, value); } catch { /* private mode: forgotten with the page */ }
}

// ---------------------------------------------------------------- DOM
// Everything is built from nodes; no string is ever read as HTML.

const $ = id => document.getElementById(id);

function h(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [k, v] of Object.entries(props || {})) {
    if (v === undefined || v === null || v === false) continue;
    if (k.startsWith('on')) el.addEventListener(k.slice(2), v);
    else if (k === 'class') el.className = v;
    else el.setAttribute(k, v === true ? '' : v);
  }
  el.append(...children.flat(Infinity).filter(c => c !== null && c !== undefined && c !== ''));
  return el;
}

// patch makes parent's children follow specs {key, make, update}; what has kept its key stays the same node.
function patch(parent, specs) {
  const old = new Map([...parent.children].reverse().map(c => [c.magpieKey, c])); // of equal keys the first
  specs.forEach((spec, i) => {
    let node = old.get(spec.key);
    old.delete(spec.key);
    if (!node) {
      node = spec.make();
      node.magpieKey = spec.key;
    }
    if (parent.children[i] !== node) parent.insertBefore(node, parent.children[i] || null);
    if (spec.update) spec.update(node);
  });
  while (parent.children.length > specs.length) parent.lastElementChild.remove();
}

// ---------------------------------------------------------------- Markdown: blocks

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
function blocks(source, depth = 0) {
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

function code(text, language) {
  const copy = h('button', { type: 'button', class: 'copy', onclick: () => {
    navigator.clipboard.writeText(text).then(() => { copy.textContent = t.copied; }, () => {});
  } }, t.copy);
  return h('div', { class: 'code' },
    h('div', { class: 'code-head' }, h('span', null, language || 'text'), copy),
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

// ---------------------------------------------------------------- Markdown: inline

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

function link(href, content) {
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

// ---------------------------------------------------------------- cards

function paintMarkdown(node, source) {
  if (node.magpieSource === source + lang) return;
  node.magpieSource = source + lang;
  patch(node, blocks(source).map(b => ({ key: lang + b.key, make: b.make })));
}

function markdown(el) {
  const node = h('div', { class: 'md' + (el.text_size === 'notation' ? ' small' : ''), 'data-element': el.element_id });
  paintMarkdown(node, String(el.content ?? ''));
  return node;
}

// elementSpecs are the specs of a list of elements; text that grows keeps its node.
function elementSpecs(list, message) {
  return (Array.isArray(list) ? list : []).filter(el => el && typeof el === 'object').map((el, i) => {
    if (el.tag === 'markdown') {
      return { key: 'markdown ' + (el.element_id || i) + el.text_size, make: () => markdown(el), update: n => paintMarkdown(n, String(el.content ?? '')) };
    }
    if (el.tag === 'collapsible_panel') { // it stays as its reader has left it
      return { key: 'panel ' + (el.element_id || i), make: () => h('details', { class: 'fold', open: el.expanded === true }, h('summary'), h('div')), update: n => paintPanel(n, el, message) };
    }
    return { key: lang + JSON.stringify(el), make: () => element(el, message) };
  });
}

function elements(list, message) {
  return elementSpecs(list, message).map(s => {
    const node = s.make();
    if (s.update) s.update(node);
    return node;
  });
}

function paintPanel(node, el, message) {
  node.firstElementChild.replaceChildren(plain(el.header && el.header.title) || '…');
  patch(node.lastElementChild, elementSpecs(el.elements, message));
}

function calledBy(el) { return plain(el.placeholder) || String(el.name ?? ''); }

// filledIn is what stands in the fields of a form, by their names.
function filledIn(form) {
  const out = {};
  for (const field of form.querySelectorAll('[data-name]')) {
    const values = field.matches('.choices') ? [...field.querySelectorAll(':checked')].map(c => c.value) : [field.value];
    if (values.some(v => v !== '')) out[field.dataset.name] = values;
  }
  return out;
}

function plain(text) {
  if (text && typeof text === 'object') return text.tag === 'lark_md' || text.tag === 'markdown' ? markdown(text) : String(text.content ?? '');
  return String(text ?? '');
}

// element draws one element of a card, of whatever kind.
function element(el, message) {
  switch (el.tag) {
    case 'markdown': case 'lark_md': return markdown(el);
    case 'plain_text': return h('div', { class: 'plain' }, String(el.content ?? ''));
    case 'div': return h('div', { class: 'plain' }, plain(el.text), (el.fields || []).map(f => h('div', null, plain(f.text))));
    case 'hr': return h('hr');
    case 'button': return button(el, message);
    case 'column_set': return h('div', { class: 'columns', 'data-flex': el.flex_mode || 'none' }, elements((el.columns || []).map(c => ({ tag: 'column', ...c })), message));
    case 'column': return h('div', { class: 'column', 'data-width': el.width || 'auto' }, elements(el.elements, message));
    case 'action': return h('div', { class: 'columns', 'data-flex': 'flow' }, elements(el.actions, message));
    case 'note': return h('div', { class: 'md small' }, elements(el.elements, message));
    case 'form': return h('div', { class: 'form' }, elements(el.elements, message));
    case 'select_static': return h('select', { 'data-name': el.name, required: el.required === true, 'aria-label': calledBy(el) },
      h('option', { value: '' }, plain(el.placeholder) || '…'), (el.options || []).map(o => h('option', { value: o.value }, plain(o.text))));
    case 'multi_select_static': return h('div', { class: 'choices', role: 'group', 'data-name': el.name, 'data-required': el.required === true, 'aria-label': calledBy(el) },
      (el.options || []).map(o => h('label', null, h('input', { type: 'checkbox', value: o.value }), plain(o.text))));
    case 'input': return h(el.input_type === 'multiline_text' ? 'textarea' : 'input', { 'data-name': el.name, required: el.required === true, rows: el.rows,
      maxlength: el.max_length, placeholder: plain(el.placeholder), 'aria-label': calledBy(el) });
    case 'img': return h('div', { class: 'picture' }, t.unknown(plain(el.alt) || t.picture));
    case 'table': return dataTable(el);
  }
  const inner = el.elements || el.columns || el.actions;
  if (Array.isArray(inner)) return h('div', { class: 'unknown' }, elements(inner, message));
  return h('div', { class: 'unknown plain' }, plain(el.text) || plain(el.content) || t.unknown(String(el.tag)));
}

function dataTable(el) {
  const columns = Array.isArray(el.columns) ? el.columns : [];
  const cell = v => Array.isArray(v) ? v.map(x => x && x.text ? x.text : x).join(' ') : String(v ?? '');
  return h('div', { class: 'table', tabindex: 0 }, h('table', null,
    h('thead', null, h('tr', null, columns.map(c => h('th', { scope: 'col' }, String(c.display_name ?? c.name ?? ''))))),
    h('tbody', null, (Array.isArray(el.rows) ? el.rows : []).map(r => h('tr', null, columns.map(c => h('td', null, cell(r[c.name]))))))));
}

function button(el, message) {
  const callback = (Array.isArray(el.behaviors) ? el.behaviors : []).find(b => b && b.type === 'callback');
  const value = callback ? callback.value : el.value;
  const label = plain(el.text) || '…';
  const node = h('button', { type: 'button', class: 'act ' + (String(el.type || 'default').includes('danger') ? 'danger' : String(el.type || '').includes('primary') ? 'primary' : ''),
    'data-do': value && typeof value === 'object' ? String(value.do ?? '') : String(value ?? ''), disabled: el.disabled === true || value === undefined,
    onclick: () => el.form_action_type === 'submit' ? submitForm(node, message, value) : press(node, message, value) }, label);
  return node;
}

// submitForm sends the form in which the button stands, once all that is required is filled in.
function submitForm(node, message, value) {
  const form = node.closest('.form'), filled = filledIn(form);
  const missing = [...form.querySelectorAll('[required], [data-required]')].find(f => !filled[f.dataset.name]);
  if (!missing) return press(node, message, value, filled);
  toast('error', t.errors.incomplete);
  return missing.focus();
}

// paintCard makes node show the card of message; node is kept from one state to the next.
function paintCard(node, message) {
  const card = message.card || {};
  node.classList.toggle('live', Boolean(message.streaming));
  node.setAttribute('aria-busy', Boolean(message.streaming));
  const head = card.header && (plain(card.header.title) || plain(card.header.subtitle)) ? [{
    key: 'header' + JSON.stringify(card.header),
    make: () => h('div', { class: 'card-head', 'data-color': card.header.template || 'default' }, h('strong', null, plain(card.header.title)), h('span', null, plain(card.header.subtitle))),
  }] : [];
  const list = (card.body && card.body.elements) || card.elements || Object.values(card.i18n_elements || {})[0] || [];
  patch(node, [...head, { key: 'body', make: () => h('div', { class: 'body' }), update: n => {
    patch(n, elementSpecs(list, message));
    const texts = [...n.children].filter(c => c.classList.contains('md') && !c.classList.contains('small'));
    [...n.children].forEach(c => c.classList.toggle('cursor', Boolean(message.streaming) && c === texts.at(-1)));
  } }]);
}

// ---------------------------------------------------------------- posts and texts

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

// ---------------------------------------------------------------- messages

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

// ---------------------------------------------------------------- state

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

// ---------------------------------------------------------------- painting

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
    h('span', { class: 'chat-text' }, h('span', { class: 'chat-name' }), h('span', { class: 'chat-brief' })), h('span', { class: 'dot', hidden: true }));
}

function paintChat(node, chat, current) {
  const last = chat.messages.at(-1);
  node.setAttribute('aria-current', current);
  node.querySelector('.chat-name').replaceChildren(chat.name, h('small', null, chat.mode === 'group' ? t.group : t.private));
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

// ---------------------------------------------------------------- the context panel

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

// ---------------------------------------------------------------- acts

async function call(path, body) {
  let code = 'network', detail = '';
  try {
    const r = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
    const answer = await r.json();
    if (r.ok) return answer;
    code = answer.error;
    detail = answer.detail;
  } catch { /* told below */ }
  toast('error', (t.errors[code] || t.errors.internal) + (detail ? '：' + detail : ''));
  return null;
}

async function say(text) {
  const chat = chosen();
  if (!chat || text.trim() === '') return false;
  $('messages').scrollTop = $('messages').scrollHeight;
  return await call('api/say', { chat: chat.id, user: $('speaker').value, text, mention: chat.mode === 'group' && $('mention').checked }) !== null;
}

async function press(node, message, value, filled) {
  node.disabled = true;
  const answer = await call('api/press', { message: message.id, user: $('speaker').value, value, filled });
  node.disabled = false;
  if (answer) toast(answer.type || 'info', answer.content || t.done);
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

let fading = 0;

function toast(kind, text) {
  const box = $('toast');
  box.dataset.kind = kind;
  box.textContent = text;
  box.classList.add('shown');
  clearTimeout(fading);
  fading = setTimeout(() => box.classList.remove('shown'), 4000);
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
  t = texts[lang];
  document.documentElement.lang = lang === 'zh' ? 'zh-CN' : 'en';
  document.title = t.title;
  for (const el of document.querySelectorAll('[data-i18n]')) el.textContent = t[el.dataset.i18n];
  for (const el of document.querySelectorAll('[data-i18n-label]')) el.setAttribute('aria-label', t[el.dataset.i18nLabel]);
  $('lang').textContent = t.other;
  $('lang').setAttribute('aria-label', t.otherLabel);
  paint();
}

// ---------------------------------------------------------------- start

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
  $('lang').addEventListener('click', () => { lang = lang === 'zh' ? 'en' : 'zh'; remember('lang', lang); translate(); });
  $('toggle-context').addEventListener('click', () => openContext(!document.body.classList.contains('context-open')));
  document.addEventListener('keydown', e => { if (e.key === 'Escape') openContext(false); });
  translate();
  listen();
}

start();
