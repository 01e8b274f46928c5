(max) => {
  const key = crypto.randomUUID ? crypto.randomUUID() : String(Math.random());
  const trees = [];
  const opened = CSS.supports('selector(:popover-open)') ? ':popover-open' : ':not(*)';
  // Depth first, so that a tree is written after those inside it.
  const mark = (root) => {
    for (const element of root.querySelectorAll('*')) {
      // What is shown, and is not in the attributes and texts. Without its attribute, a popover would close.
      if (element.matches(opened)) element.style.display = getComputedStyle(element).display;
      if (element instanceof HTMLTextAreaElement) element.textContent = element.value;
      if (element.shadowRoot) {
        const number = trees.push('') - 1;
        mark(element.shadowRoot);
        trees[number] = element.shadowRoot.innerHTML;
        element.prepend(new Comment(`${key} ${number} `));
      }
    }
  };
  mark(document);
  for (const element of document.querySelectorAll('noscript')) element.remove();
  let html = document.documentElement ? document.documentElement.outerHTML : '';
  const place = new RegExp(`<!--${key} (\\d+) -->`, 'g');
  // The size is known before the copies are made: each tree stands in one place.
  if (trees.reduce((sum, tree) => sum + tree.length, html.length) > max) return false;
  for (let depth = 0; depth < 16 && html.includes(key); depth++) html = html.replace(place, (_, number) => trees[number]);
  return `<!DOCTYPE html>${html}`;
}
