// Everything is built from nodes; no string is ever read as HTML.

export const $ = id => document.getElementById(id);

export function h(tag, props, ...children) {
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

// patch makes parent's children follow specs {key, make, update}; what has kept its key stays the same node, and where
// it is: a node that is moved under the pointer loses the click.
export function patch(parent, specs) {
  const keys = new Set(specs.map(s => s.key)), old = new Map();
  for (const child of [...parent.children]) {
    if (keys.has(child.magpieKey) && !old.has(child.magpieKey)) old.set(child.magpieKey, child);
    else child.remove();
  }
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
}
