// Moves the page and the boxes in it through what they hold, a view each frame, if that is more than `known` pixels.
// Returns how many pixels they hold; 0 if nothing moved.
async (maxViews, maxBoxes, known, isBack) => {
  // Scripts that wait for a frame run before it is laid out and observers look at it: so each move is seen.
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const root = document.scrollingElement ?? document.documentElement;
  // A document that is not begun, or that another one was to replace, is not shown: it has no frames.
  if (!root || !document.body || document.readyState === 'loading') return 0;
  const boxes = [];
  const find = (tree) => {
    for (const element of tree.querySelectorAll('*')) {
      if (boxes.length === maxBoxes) return;
      const isHigher = element !== root && element.clientHeight > 0 && element.scrollHeight > element.clientHeight + 1;
      if (isHigher && /auto|scroll/.test(getComputedStyle(element).overflowY)) boxes.push(element);
      if (element.shadowRoot) find(element.shadowRoot);
    }
  };
  // Animations would be cut short.
  const moveTo = (box, top) => {
    const before = box.scrollTop;
    box.scrollTo({ top, behavior: 'instant' });
    return box.scrollTop !== before;
  };
  // What was added since the last time is laid out, and what it pushed out of view is known to be out, before the view moves.
  await frame();
  await frame();
  find(document);
  const extent = () => [root, ...boxes].reduce((sum, box) => sum + box.scrollHeight, 0);
  if (!isBack && extent() <= known) return known;
  let [left, hasMoved] = [maxViews, false];
  const through = async (box) => {
    // What comes meanwhile is for the next time: how soon it comes is chance.
    const end = box.scrollHeight - box.clientHeight;
    while (box.scrollTop < end && left-- > 0 && moveTo(box, Math.min(box.scrollTop + box.clientHeight, end))) {
      hasMoved = true;
      await frame();
    }
    if (moveTo(box, end)) await frame();
  };
  if (isBack) {
    for (const box of [...boxes.reverse(), root]) moveTo(box, 0);
  } else {
    await through(root);
    for (const box of boxes) {
      box.scrollIntoView({ block: 'center', behavior: 'instant' });
      await through(box);
    }
    if (boxes.length) await through(root);
  }
  await frame();
  await frame();
  return hasMoved ? extent() : 0;
}
