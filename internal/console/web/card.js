// A card as the platform shows it.

import { press, toast } from './acts.js';
import { h, patch } from './dom.js';
import { blocks } from './markdown.js';
import { lang, named, t } from './texts.js';

function paintMarkdown(node, source) {
  if (node.magpieSource === source + lang) return;
  node.magpieSource = source + lang;
  patch(node, blocks(named(source)).map(b => ({ key: lang + b.key, make: b.make })));
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
  if (text && typeof text === 'object') return text.tag === 'lark_md' || text.tag === 'markdown' ? markdown(text) : named(text.content ?? '');
  return named(text ?? '');
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
    case 'img': return h('img', { class: 'shot', src: 'api/file/' + encodeURIComponent(String(el.img_key ?? '')), alt: plain(el.alt) || t.picture });
    case 'table': return dataTable(el);
    case 'chart': return barChart(el.chart_spec);
  }
  const inner = el.elements || el.columns || el.actions;
  if (Array.isArray(inner)) return h('div', { class: 'unknown' }, elements(inner, message));
  return h('div', { class: 'unknown plain' }, plain(el.text) || plain(el.content) || t.unknown(String(el.tag)));
}

// barChart draws what the bridge uses of the platform's charts: bars, and a line across them.
function barChart(spec) {
  const bars = ((spec && spec.data && spec.data.values) || []).map(v => ({ label: String(v[spec.xField] ?? ''), value: Number(v[spec.yField]) || 0 }));
  const line = spec && Array.isArray(spec.markLine) && spec.markLine[0];
  const most = Math.max(...bars.map(b => b.value), line ? Number(line.y) || 0 : 0) || 1;
  const title = String((spec && spec.title && spec.title.text) ?? '');
  const sized = (node, name, value) => { node.style[name] = value; return node; }; // the page's policy forbids style attributes
  return h('figure', { class: 'chart', role: 'img', 'aria-label': title + ': ' + bars.map(b => b.label + ' ' + b.value.toFixed(2)).join(', ') },
    h('figcaption', null, title),
    h('div', { class: 'bars' },
      bars.map(b => h('div', { class: 'bar', title: b.label + ' ' + b.value.toFixed(4) }, sized(h('span'), 'height', `${100 * b.value / most}%`))),
      line ? sized(h('div', { class: 'limit' }, String((line.label && line.label.text) ?? '')), 'bottom', `${100 * (Number(line.y) || 0) / most}%`) : null),
    h('div', { class: 'bar-labels' }, bars.map(b => h('span', null, b.label))));
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
  const kind = String(el.type || ''); // such as danger or primary_filled
  const node = h('button', { type: 'button', class: 'act ' + (kind.includes('danger') ? 'danger' : kind.includes('primary') ? 'primary' : kind === 'text' ? 'text' : '') + (kind.endsWith('_filled') ? ' filled' : ''),
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
export function paintCard(node, message) {
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
