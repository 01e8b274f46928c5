// Requests to the console, and the token for changes.

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

/** Sends a change with the token. Returns null if the user cancels the token dialog. */
export async function change(method, path, body) {
  const send = async (mine) => {
    try {
      const accepted = await ask(path, { method, body, headers: { Authorization: `Bearer ${mine}` } });
      token = mine;
      return accepted;
    } catch (refusal) {
      if (refusal.status === 401) forgetToken();
      else if (refusal.status !== undefined && refusal.status !== 403) token = mine;
      throw refusal;
    }
  };
  return token === null ? withTypedToken(send) : send(token);
}

/** Asks for a token and passes it to `send`; again while the console does not know it. */
function withTypedToken(send) {
  const [dialog, form, text, wrong, cancel] = ["token", "token-form", "token-text", "token-wrong", "token-cancel"].map(
    (id) => document.getElementById(id),
  );
  const refuse = (why) => {
    wrong.textContent = why;
    text.select();
  };
  return new Promise((resolve, reject) => {
    let isSending = false;
    wrong.textContent = "";
    text.value = "";
    form.onsubmit = async (event) => {
      event.preventDefault();
      if (isSending) return;
      const typed = text.value.trim();
      // A header allows no other characters.
      if (!/^[\x21-\x7e]+$/.test(typed)) return refuse("A token is one word without spaces.");
      isSending = true;
      try {
        resolve(await send(typed));
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
