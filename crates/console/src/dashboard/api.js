// Requests to the console, and the token or session for changes.

import { prose } from "./dom.js";

/** A failed request: problem+json (RFC 9457), or no connection. */
export class Problem extends Error {
  constructor({ title, status, detail, at, todo }) {
    super(detail);
    Object.assign(this, { name: "Problem", title: title ?? "Error", status, detail: detail ?? "", at, todo });
  }
}

const SILENCE = {
  title: "No connection",
  detail: "The console does not respond.",
  todo: "check that `recrawl serve` is running",
};

/** By document: the process of another partition that has answered. */
const owners = new WeakMap();

/** The partition and process of a fleet that has answered for this one, if another has. */
export const ownerOf = (document) => owners.get(document);

/** Sends a request and returns the JSON of the response. */
export async function ask(path, { method = "GET", body, headers = {}, signal } = {}) {
  const sent = body === undefined ? {} : { "Content-Type": "application/json" };
  let answer;
  try {
    answer = await fetch(path, {
      method,
      signal,
      headers: { ...headers, ...sent },
      body: body && JSON.stringify(body),
    });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Problem(SILENCE);
  }
  const document = await answer.json().catch(() => null);
  const [node, partition] = ["recrawl-node", "recrawl-partition"].map((name) => answer.headers.get(name));
  if (answer.ok && document !== null && node !== null) owners.set(document, { node, partition });
  if (answer.ok && document !== null) return document;
  throw new Problem(document ?? { title: answer.statusText, status: answer.status, detail: `${path}: the response is not JSON` });
}

/** A path with an encoded query; empty parameters are omitted. */
export function query(path, parameters) {
  const some = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return some.length === 0 ? path : `${path}?${new URLSearchParams(some)}`;
}

// Kept only in the memory of this tab.
let token = null;

/** Whether this tab has a token. */
export const hasToken = () => token !== null;

/** Forgets the token; the next change asks for it again. */
export function forgetToken() {
  token = null;
}

/** How changes are authorized: `by` is `token`, `link` or `nothing`; `may_change` is true with a session. */
export const session = (options) => ask("api/v1/session", options);

/** Begins a session with the secret of the one-time link. */
export const beginSession = (secret) => ask("api/v1/session", { method: "POST", body: { secret } });

/** Sends a change with the token or the session. Returns null if the user cancels the dialog that asks for one. */
export async function change(method, path, body) {
  const send = (headers) => ask(path, { method, body, headers });
  const withToken = async (mine) => {
    try {
      const accepted = await send({ Authorization: `Bearer ${mine}` });
      token = mine;
      return accepted;
    } catch (refusal) {
      if (refusal.status === 401) forgetToken();
      else if (refusal.status !== undefined && refusal.status !== 403) token = mine;
      throw refusal;
    }
  };
  if (token !== null) return withToken(token);
  const { by, may_change: mayChange } = await session();
  if (mayChange || by === "nothing") return send();
  return by === "token" ? typed(TOKEN, withToken) : typed(LINK, (secret) => beginSession(secret).then(() => send()));
}

/** What the dialog asks for. `read` returns it from what was typed, or undefined. */
const TOKEN = {
  title: "Enter your token",
  why: "Changes need a token from the file named by `serve.tokens`. The token stays in this tab's memory until you close or reload it.",
  label: "Token",
  // A header allows no other characters.
  read: (text) => /^[\x21-\x7e]+$/.exec(text)?.[0],
  wrong: "A token is one word without spaces.",
};
const LINK = {
  title: "Paste the one-time link",
  why: "No tokens are configured, so changes need the link in the daemon's log. It works once, for 15 minutes. `recrawl reload` logs it again, or a new one.",
  label: "Link",
  read: (text) => /(?:^|secret=)([0-9a-f]{64})$/.exec(text)?.[1],
  wrong: "The link ends with `secret=` and 64 letters and digits.",
};

/** Asks for a token or a link and passes it to `send`; again while the console does not know it. */
function typed({ title, why, label, read, wrong: malformed }, send) {
  const [dialog, form, heading, reason, name, text, wrong, cancel] = ["", "-form", "-title", "-why", "-label", "-text", "-wrong", "-cancel"].map(
    (part) => document.getElementById(`token${part}`),
  );
  const refuse = (why) => {
    wrong.textContent = why;
    text.select();
  };
  return new Promise((resolve, reject) => {
    let isSending = false;
    [heading.textContent, name.textContent, wrong.textContent, text.value] = [title, label, "", ""];
    reason.replaceChildren(...prose(why));
    form.onsubmit = async (event) => {
      event.preventDefault();
      if (isSending) return;
      const mine = read(text.value.trim());
      if (mine === undefined) return refuse(malformed);
      isSending = true;
      try {
        resolve(await send(mine));
      } catch (refusal) {
        if (refusal.status === 401 && dialog.open) {
          return refuse(`${refusal.title}: ${refusal.detail}. What to do: ${refusal.todo}.`);
        }
        reject(refusal);
      } finally {
        isSending = false;
      }
      dialog.close();
    };
    cancel.onclick = () => dialog.close();
    dialog.onclose = () => {
      text.value = "";
      // A change on its way still ends.
      if (!isSending) resolve(null);
    };
    dialog.showModal();
  });
}
