(max) => {
  const key = crypto.randomUUID ? crypto.randomUUID() : String(Math.random());
  const trees = [];
  const opened = CSS.supports('selector(:popover-open)') ? ':popover-open' : ':not(*)';
  // Depth first, so that a tree is written after those inside it.
  const mark = (root) => {
    // Scripts write what no markup can say: the rest of such a comment or script would be seen as text.
    const comments = document.createTreeWalker(root, NodeFilter.SHOW_COMMENT);
    while (comments.nextNode()) if (/^-?>|--!?>/.test(comments.currentNode.data)) comments.currentNode.data = '';
    for (const element of root.querySelectorAll('*')) {
      // What is shown, and is not in the attributes and texts. Without its attribute, a popover would close.
      if (element.matches(opened)) element.style.display = getComputedStyle(element).display;
      if (element instanceof HTMLScriptElement && /<\/script/i.test(element.text)) {
        element.textContent = element.text.replace(/<(?=!--|\/script)/gi, '\\u003c');
      }
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
