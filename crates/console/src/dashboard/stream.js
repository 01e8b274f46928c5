// What happens, as it happens: server-sent events, and whether they still come.

import { ask } from "./api.js";

/** A browser gives up where it is refused; then this tries again, after so long. */
const RETRY = 3000;
/** Figures are told only when they change. After so long a silence the console is asked whether it is still there. */
const SILENCE = 15000;

/**
 * Calls `status`, `cycle` and `change` with what was told, `lost` when the console is gone, `found` when it is back, and
 * `again` when something may have been missed.
 *
 * A page that nobody sees does not listen: a browser has but six connections to one origin, for all its tabs.
 */
export function listen({ status, cycle, change, lost, found, again }) {
  let source = null;
  let retry = 0;
  let heard = Date.now();
  let isLost = false;

  const hear = (act) => (event) => {
    heard = Date.now();
    if (isLost) {
      isLost = false;
      found();
      again();
    }
    act(JSON.parse(event.data));
  };
  const miss = () => {
    if (isLost) return;
    isLost = true;
    lost(heard);
  };
  const close = () => {
    clearTimeout(retry);
    source?.close();
    source = null;
  };
  const open = () => {
    close();
    source = new EventSource("/api/v1/events");
    source.addEventListener("status", hear(status));
    source.addEventListener("cycle", hear(cycle));
    source.addEventListener("change", hear(change));
    source.onerror = () => {
      miss();
      if (source?.readyState === EventSource.CLOSED) retry = setTimeout(open, RETRY);
    };
  };
  const look = async () => {
    if (isLost || document.hidden || Date.now() - heard < SILENCE) return;
    try {
      const now = await ask("/api/v1/status", { signal: AbortSignal.timeout(SILENCE) });
      heard = Date.now();
      status(now);
    } catch {
      // A connection that broke without a word: the browser would wait for hours.
      close();
      miss();
      retry = setTimeout(open, RETRY);
    }
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return close();
    heard = Date.now();
    open();
    again();
  });
  if (!document.hidden) open();
  setInterval(look, SILENCE / 3);
}
