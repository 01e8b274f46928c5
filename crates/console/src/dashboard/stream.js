// Receives live events (server-sent events) and detects a lost connection.

import { ask } from "./api.js";

/** Milliseconds before a new attempt after the browser gave up. */
const RETRY = 3000;
/** Milliseconds without an event after which the status is requested: events come only when figures change. */
const SILENCE = 15000;

/**
 * Calls `status`, `cycle` and `change` with events, `lost` when the connection is lost, `found` when it is back, and
 * `again` when events may have been missed.
 *
 * A hidden page closes its stream: a browser has only six connections to one origin, for all its tabs.
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
    source = new EventSource("api/v1/events");
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
      const now = await ask("api/v1/status", { signal: AbortSignal.timeout(SILENCE) });
      heard = Date.now();
      status(now);
    } catch {
      // The connection broke silently; the browser would wait for hours.
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
